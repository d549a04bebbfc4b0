"""Filters of a list: their query parameters and the SQL conditions they build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    DateTime,
    Interval,
    any_,
    bindparam,
    func,
    literal,
    or_,
    select,
    true,
)

from scrapersky.errors import InvalidInput
from scrapersky.models import Actor, Domain
from scrapersky.scraper.http.urls import normalise_site


def build_owner_condition(model: Any, actor: Actor) -> ColumnElement[bool]:
    """The actor's tenant's. Rows that are nobody's belong to those who run the installation."""
    tenant = getattr(model, "tenant_id", None)
    if tenant is None:
        return true()
    mine: ColumnElement[bool] = tenant == actor.tenant_id
    may_be_nobodys = model.__table__.c.tenant_id.nullable
    return or_(mine, tenant.is_(None)) if may_be_nobodys and actor.is_operator else mine


MAX_TEXT_CHARACTERS = 500
MAX_AGE = timedelta(days=36_500)
VALID_YEARS = range(1900, 9000)
"""What both Python and PostgreSQL can turn into any time zone."""

AGE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
AGE_PATTERN = re.compile(r"(\d{1,9})([smhdw])\Z")


def parse_time(given: Any) -> datetime | timedelta:
    """`2026-11-01T12:00:00Z`, or an age: `90m`, `2d`."""
    if isinstance(given, datetime | timedelta):
        return given
    text = str(given).strip()
    found = AGE_PATTERN.match(text)
    age = timedelta(**{AGE_UNITS[found[2]]: int(found[1])}) if found and len(found[1]) < 8 else None
    moment = age or _parse_datetime(text)
    if isinstance(moment, timedelta) and moment <= MAX_AGE:
        return moment
    if isinstance(moment, datetime) and moment.year in VALID_YEARS:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    raise PydanticCustomError(
        "moment", "write a moment such as 2026-11-01T12:00:00Z, or an age such as 90m, 12h or 2d"
    )


def _parse_datetime(text: str) -> datetime | None:
    try:
        # A plus sign in a query string arrives as a space.
        return datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        return None


def to_sql(moment: datetime | timedelta) -> ColumnElement[Any]:
    """An age is counted back from the database's now."""
    if isinstance(moment, timedelta):
        return func.now() - literal(moment, Interval)
    return literal(moment, DateTime(timezone=True))


def _check_storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise PydanticCustomError("text", "it holds a character that no stored text can hold")
    return text


def _format_time(moment: datetime | timedelta) -> str:
    return f"{moment.total_seconds():.0f}s" if isinstance(moment, timedelta) else str(moment)


TimeOrAge = Annotated[
    datetime | timedelta,
    BeforeValidator(parse_time),
    PlainSerializer(_format_time),
    WithJsonSchema({"type": "string", "examples": ["2d", "2026-11-01T12:00:00Z"]}),
]
FilterText = Annotated[
    str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS), AfterValidator(_check_storable)
]


FilterValues = Mapping[str, Any]
"""What was asked for, by the name of its parameter; what was not asked for is not in it."""
FilterParameters = dict[str, Any]
"""Type and field of each, as pydantic makes models of."""
ModelColumn = Any
"""A mapped column of the list's model."""
FilterConditions = Iterator[ColumnElement[bool]]

SmallNumber = Annotated[int, Field(ge=0, le=32_767)]
"""As large as the smallest of our number columns can hold."""

MAX_FILTER_VALUES = 100
"""Of one filter; longer lists are better asked for in several requests."""


class ListFilter(Protocol):
    def parameters(self) -> FilterParameters: ...

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions: ...


@dataclass(frozen=True)
class ChoiceFilter:
    """Equal to one of the values given."""

    name: str
    column: ModelColumn
    words: tuple[str, ...] = ()
    """All there are; none named means any text or, for a key or a number, any of these."""
    default: tuple[str, ...] | None = None
    says: str = ""

    def parameters(self) -> FilterParameters:
        said = self.says or f"Only with this {self.name}; several may be given."
        given = Field(default=self._default(), max_length=MAX_FILTER_VALUES, description=said)
        kind: Any = list.__class_getitem__(self._type())
        return {self.name: (kind | None, given)}

    def _default(self) -> list[str] | None:
        return None if self.default is None else list(self.default)

    def _type(self) -> Any:
        if self.words:
            return Literal[self.words]
        if self.column is None:
            return FilterText
        kinds = {UUID: UUID, int: SmallNumber}
        return kinds.get(self.column.type.python_type, FilterText)

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        values = given.get(self.name)
        if values is not None:
            yield self._build_condition(sorted(set(values), key=str))

    def _build_condition(self, values: Sequence[Any]) -> ColumnElement[bool]:
        if unknown := set(values) - set(self.words) if self.words else ():
            known = ", ".join(self.words)
            raise InvalidInput(f"No {self.name} is {min(unknown)}; there are {known}.")
        if self.words:
            # Written out: with bound words no plan for all values can use an index for some.
            words: Any = bindparam(None, values, expanding=True, literal_execute=True)
            found: ColumnElement[bool] = self.column.in_(words)
        elif len(values) == 1:
            found = self.column == values[0]
        else:
            found = self.column == any_(literal(values, ARRAY(self.column.type)))
        return found


@dataclass(frozen=True)
class DateRangeFilter:
    """Between two moments: `x_since` (included) and `x_until` (not included)."""

    name: str
    column: ModelColumn

    def parameters(self) -> FilterParameters:
        said = "a moment, or an age such as 2d counted back from now."
        return {
            f"{self.name}_since": (TimeOrAge | None, Field(None, description=f"Not before {said}")),
            f"{self.name}_until": (
                TimeOrAge | None,
                Field(None, description=f"Only before {said}"),
            ),
        }

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (since := given.get(f"{self.name}_since")) is not None:
            yield self.column >= to_sql(since)
        if (until := given.get(f"{self.name}_until")) is not None:
            yield self.column < to_sql(until)


@dataclass(frozen=True)
class TextFilter:
    """Has the text somewhere in one of its columns; large and small letters are the same."""

    name: str
    columns: tuple[ModelColumn, ...]
    says: str = "Has this text in it; large and small letters are the same."

    def parameters(self) -> FilterParameters:
        return {self.name: (FilterText | None, Field(None, description=self.says))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (text := given.get(self.name)) is not None:
            yield or_(*(each.icontains(text, autoescape=True) for each in self.columns))


@dataclass(frozen=True)
class PresenceFilter:
    """Whether there is a value at all."""

    name: str
    column: ModelColumn

    def parameters(self) -> FilterParameters:
        said = f"Whether there is one at all: {self.name.removeprefix('has_')}."
        return {self.name: (bool | None, Field(None, description=said))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.column.is_not(None) if wanted else self.column.is_(None)


@dataclass(frozen=True)
class BooleanFilter:
    """Whether something is so; rows of which it is not known are in neither."""

    name: str
    column: ModelColumn
    says: str = "Only where this is so, or where it is known not to be."

    def parameters(self) -> FilterParameters:
        return {self.name: (bool | None, Field(None, description=self.says))}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.column.is_(wanted)


@dataclass(frozen=True)
class DomainFilter:
    """Belongs to a site, which is named as people write it or by its id."""

    column: ModelColumn
    name: str = "domain"

    def parameters(self) -> FilterParameters:
        said = "Only of this site: its name, in any spelling, or its id."
        return {
            self.name: (FilterText | None, Field(None, description=said, examples=["example.com"]))
        }

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (text := given.get(self.name)) is None:
            return
        wanted = parse_domain(text)
        if isinstance(wanted, UUID):
            yield self.column == wanted
        else:
            named = select(Domain.id).where(
                build_owner_condition(Domain, actor), Domain.domain == wanted
            )
            yield self.column == named.scalar_subquery()


def parse_domain(text: str) -> UUID | str:
    try:
        return UUID(text)
    except ValueError:
        return _normalize_domain(text)


def _normalize_domain(text: str) -> str:
    """A site that may not be fetched may well be asked for: it then is as it was written."""
    try:
        return normalise_site(text, allowed_ports=range(1, 65536)).key
    except InvalidInput:
        return text.strip().lower()


@dataclass(frozen=True)
class MinimumFilter:
    """A number that is not below the one given."""

    name: str
    column: ModelColumn
    highest: float
    says: str

    def parameters(self) -> FilterParameters:
        wanted = Field(None, ge=0, le=self.highest, description=self.says)
        return {self.name: (float | None, wanted)}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (least := given.get(self.name)) is not None:
            yield self.column >= least


@dataclass(frozen=True)
class ArrayFilter:
    """The value given stands in a column of several."""

    name: str
    column: ModelColumn
    says: str
    example: str

    def parameters(self) -> FilterParameters:
        wanted = Field(
            None, min_length=1, max_length=200, description=self.says, examples=[self.example]
        )
        return {self.name: (str | None, wanted)}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield literal(wanted) == any_(self.column)
