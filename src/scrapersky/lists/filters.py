"""Filters of a list: their query parameters and the SQL conditions they build."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, Protocol, Self, get_origin
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
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.urls import normalise_site


def build_owner_condition(model: Any, actor: Actor) -> ColumnElement[bool]:
    """Restrict rows to the actor's tenant. Rows without a tenant are visible to operators only."""
    tenant = getattr(model, "tenant_id", None)
    if tenant is None:
        return true()
    mine: ColumnElement[bool] = tenant == actor.tenant_id
    may_be_nobodys = model.__table__.c.tenant_id.nullable
    return or_(mine, tenant.is_(None)) if may_be_nobodys and actor.is_operator else mine


MAX_TEXT_CHARACTERS = 500
MAX_AGE = timedelta(days=36_500)
VALID_YEARS = range(1900, 9000)
"""Years that both Python and PostgreSQL can convert to any time zone."""

AGE_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
AGE_PATTERN = re.compile(r"(\d{1,9})([smhdw])\Z")


def parse_time(given: Any) -> datetime | timedelta:
    """Parse a timestamp such as `2026-11-01T12:00:00Z` or an age such as `90m` or `2d`."""
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
        "moment", "enter a time such as 2026-11-01T12:00:00Z or an age such as 90m, 12h or 2d"
    )


def _parse_datetime(text: str) -> datetime | None:
    try:
        # An unescaped plus sign in a query string is decoded as a space.
        return datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        return None


def to_sql(moment: datetime | timedelta) -> ColumnElement[Any]:
    """Convert to SQL. An age is subtracted from the database's clock."""
    if isinstance(moment, timedelta):
        return func.now() - literal(moment, Interval)
    return literal(moment, DateTime(timezone=True))


def _check_storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise PydanticCustomError("text", "the text contains a character that cannot be stored")
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
"""Filter values by parameter name; parameters that were not given are absent."""
FilterParameters = dict[str, Any]
"""Type and field per parameter name, as pydantic's `create_model` takes them."""
ModelColumn = Any
"""A mapped column of the list's model."""
FilterConditions = Iterator[ColumnElement[bool]]

SmallNumber = Annotated[int, Field(ge=0, le=32_767)]
"""Bounded by `smallint`, the smallest of our integer columns."""

MAX_FILTER_VALUES = 100
"""Values per filter; split longer lists into several requests."""


class ListFilter(Protocol):
    def parameters(self) -> FilterParameters: ...

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions: ...


@dataclass(frozen=True)
class ColumnFilter:
    """A filter of one column. In the declaration of a `Column`, name and column are its own."""

    name: str = ""
    column: ModelColumn = None

    def bind(self, name: str, column: ModelColumn) -> Self:
        return replace(self, name=self.name or name, column=column)


@dataclass(frozen=True)
class ValueFilter(ColumnFilter, ABC):
    """A filter with one parameter, named like the filter."""

    @abstractmethod
    def parameters(self) -> FilterParameters: ...

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.build_condition(wanted, actor)

    @abstractmethod
    def build_condition(self, wanted: Any, actor: Actor) -> ColumnElement[bool]: ...


@dataclass(frozen=True)
class ChoiceFilter(ValueFilter):
    """The column equals one of the given values."""

    words: tuple[str, ...] = ()
    """Allowed values; empty allows any value of the column's type."""
    default: tuple[str, ...] | None = None
    says: str = ""

    def parameters(self) -> FilterParameters:
        said = self.says or f"Filter by {self.name.replace('_', ' ')}. Repeatable."
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

    def build_condition(self, wanted: Sequence[Any], actor: Actor) -> ColumnElement[bool]:
        values = sorted(set(wanted), key=str)
        if unknown := set(values) - set(self.words) if self.words else ():
            known = ", ".join(self.words)
            raise InvalidInput(f"Unknown {self.name}: {min(unknown)}. Use one of: {known}.")
        if self.words:
            # Inlined as literals: a generic plan with bound values cannot use partial indexes.
            words: Any = bindparam(None, values, expanding=True, literal_execute=True)
            found: ColumnElement[bool] = self.column.in_(words)
        elif len(values) == 1:
            found = self.column == values[0]
        else:
            found = self.column == any_(literal(values, ARRAY(self.column.type)))
        return found


@dataclass(frozen=True)
class DateRangeFilter(ColumnFilter):
    """A time range: `x_since` (inclusive) and `x_until` (exclusive), for a column `x` or `x_at`."""

    def bind(self, name: str, column: ModelColumn) -> Self:
        return super().bind(name.removesuffix("_at"), column)

    def parameters(self) -> FilterParameters:
        said = "this time. A timestamp, or an age such as `2d` before now."
        return {
            f"{self.name}_since": (
                TimeOrAge | None,
                Field(None, description=f"At or after {said}"),
            ),
            f"{self.name}_until": (
                TimeOrAge | None,
                Field(None, description=f"Before {said}"),
            ),
        }

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (since := given.get(f"{self.name}_since")) is not None:
            yield self.column >= to_sql(since)
        if (until := given.get(f"{self.name}_until")) is not None:
            yield self.column < to_sql(until)


@dataclass(frozen=True)
class TextFilter(ValueFilter):
    """One of the columns contains the text, ignoring case."""

    columns: tuple[ModelColumn, ...] = ()
    """Several columns, instead of `column`."""
    says: str = "Text to search for, ignoring case."

    def parameters(self) -> FilterParameters:
        return {self.name: (FilterText | None, Field(None, description=self.says))}

    def build_condition(self, wanted: str, actor: Actor) -> ColumnElement[bool]:
        columns = self.columns or (self.column,)
        return or_(*(each.icontains(wanted, autoescape=True) for each in columns))


@dataclass(frozen=True)
class PresenceFilter(ValueFilter):
    """The column is or is not NULL."""

    def parameters(self) -> FilterParameters:
        noun = self.name.removeprefix("is_").removeprefix("has_").replace("_", " ")
        said = f"`true`: only rows that are {noun}. `false`: only the others."
        if self.name.startswith("has_"):
            said = f"`true`: only rows with {noun}. `false`: only rows without."
        return {self.name: (bool | None, Field(None, description=said))}

    def build_condition(self, wanted: bool, actor: Actor) -> ColumnElement[bool]:
        found: ColumnElement[bool] = self.column.is_not(None) if wanted else self.column.is_(None)
        return found


@dataclass(frozen=True)
class BooleanFilter(ValueFilter):
    """The column is true or false; rows with NULL match neither."""

    says: str = "Only rows where this is true or false. Rows where it is unknown match neither."

    def parameters(self) -> FilterParameters:
        return {self.name: (bool | None, Field(None, description=self.says))}

    def build_condition(self, wanted: bool, actor: Actor) -> ColumnElement[bool]:
        found: ColumnElement[bool] = self.column.is_(wanted)
        return found


@dataclass(frozen=True)
class DomainFilter(ValueFilter):
    """The row belongs to a domain, given as a name in any spelling or as an id."""

    name: str = "domain"

    def parameters(self) -> FilterParameters:
        said = "Only rows of this domain: its name in any spelling, or its id."
        return {
            self.name: (FilterText | None, Field(None, description=said, examples=["example.com"]))
        }

    def build_condition(self, wanted: str, actor: Actor) -> ColumnElement[bool]:
        key: Any = parse_domain(wanted)
        if not isinstance(key, UUID):
            named = select(Domain.id).where(
                build_owner_condition(Domain, actor), Domain.domain == key
            )
            key = named.scalar_subquery()
        found: ColumnElement[bool] = self.column == key
        return found


def parse_domain(text: str) -> UUID | str:
    try:
        return UUID(text)
    except ValueError:
        return _normalize_domain(text)


def _normalize_domain(text: str) -> str:
    """Normalise the name; keep it as written if it is not a valid site.

    Users may filter by a domain that must not be fetched.
    """
    try:
        return normalise_site(text, AddressRules(allowed_ports=frozenset(range(1, 65536)))).key
    except InvalidInput:
        return text.strip().lower()


@dataclass(frozen=True)
class MinimumFilter(ValueFilter):
    """The column is at least the given number."""

    highest: float = 0
    says: str = ""

    def parameters(self) -> FilterParameters:
        wanted = Field(None, ge=0, le=self.highest, description=self.says)
        return {self.name: (float | None, wanted)}

    def build_condition(self, wanted: float, actor: Actor) -> ColumnElement[bool]:
        found: ColumnElement[bool] = self.column >= wanted
        return found


@dataclass(frozen=True)
class ArrayFilter(ValueFilter):
    """The array column contains the given value."""

    says: str = ""
    example: str = ""

    def parameters(self) -> FilterParameters:
        wanted = Field(
            None, min_length=1, max_length=200, description=self.says, examples=[self.example]
        )
        return {self.name: (str | None, wanted)}

    def build_condition(self, wanted: str, actor: Actor) -> ColumnElement[bool]:
        return literal(wanted) == any_(self.column)


@dataclass(frozen=True)
class ConditionFilter:
    """A filter whose condition a function builds from the value, for example on another table."""

    name: str
    kind: Any
    """Type of the parameter."""
    says: str
    build: Callable[[Any, Actor], ColumnElement[bool]]

    def parameters(self) -> FilterParameters:
        most = MAX_FILTER_VALUES if get_origin(self.kind) is list else None
        wanted = Field(None, max_length=most, description=self.says)
        return {self.name: (self.kind | None, wanted)}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.build(wanted, actor)


@dataclass(frozen=True)
class FixedFilter:
    """A condition that always applies, without a parameter."""

    condition: ColumnElement[bool]

    def parameters(self) -> FilterParameters:
        return {}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        yield self.condition
