"""The ways a list can be narrowed: each says what it takes and what that means in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from pydantic import Field
from sqlalchemy import ARRAY, ColumnElement, any_, bindparam, literal, or_, select

from scrapersky.errors import InvalidInput
from scrapersky.http.lists.ownership import owned_by
from scrapersky.http.lists.texts import Moment, Text, as_sql
from scrapersky.models import Actor, Domain
from scrapersky.scraper.urls import normalise_site

Given = Mapping[str, Any]
"""What was asked for, by the name of its parameter; what was not asked for is not in it."""
Parameters = dict[str, Any]
"""Type and field of each, as pydantic makes models of."""
Column = Any
"""A mapped column of the list's model."""
Conditions = Iterator[ColumnElement[bool]]

Number = Annotated[int, Field(ge=0, le=32_767)]
"""As large as the smallest of our number columns can hold."""

MAX_VALUES = 100
"""Of one filter; longer lists are better asked for in several requests."""


class Filter(Protocol):
    def parameters(self) -> Parameters: ...

    def conditions(self, given: Given, actor: Actor) -> Conditions: ...


@dataclass(frozen=True)
class OneOf:
    """Equal to one of the values given."""

    name: str
    column: Column
    words: tuple[str, ...] = ()
    """All there are; none named means any text or, for a key or a number, any of these."""
    default: tuple[str, ...] | None = None
    says: str = ""

    def parameters(self) -> Parameters:
        said = self.says or f"Only with this {self.name}; several may be given."
        given = Field(default=self._default(), max_length=MAX_VALUES, description=said)
        kind: Any = list.__class_getitem__(self._type())
        return {self.name: (kind | None, given)}

    def _default(self) -> list[str] | None:
        return None if self.default is None else list(self.default)

    def _type(self) -> Any:
        if self.words:
            return Literal[self.words]
        if self.column is None:
            return Text
        kinds = {UUID: UUID, int: Number}
        return kinds.get(self.column.type.python_type, Text)

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        values = given.get(self.name)
        if values is not None:
            yield self._among(sorted(set(values), key=str))

    def _among(self, values: Sequence[Any]) -> ColumnElement[bool]:
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
class When:
    """Between two moments: `x_since` (included) and `x_until` (not included)."""

    name: str
    column: Column

    def parameters(self) -> Parameters:
        said = "a moment, or an age such as 2d counted back from now."
        return {
            f"{self.name}_since": (Moment | None, Field(None, description=f"Not before {said}")),
            f"{self.name}_until": (Moment | None, Field(None, description=f"Only before {said}")),
        }

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (since := given.get(f"{self.name}_since")) is not None:
            yield self.column >= as_sql(since)
        if (until := given.get(f"{self.name}_until")) is not None:
            yield self.column < as_sql(until)


@dataclass(frozen=True)
class Contains:
    """Has the text somewhere in one of its columns; large and small letters are the same."""

    name: str
    columns: tuple[Column, ...]
    says: str = "Has this text in it; large and small letters are the same."

    def parameters(self) -> Parameters:
        return {self.name: (Text | None, Field(None, description=self.says))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (text := given.get(self.name)) is not None:
            yield or_(*(each.icontains(text, autoescape=True) for each in self.columns))


@dataclass(frozen=True)
class Has:
    """Whether there is a value at all."""

    name: str
    column: Column

    def parameters(self) -> Parameters:
        said = f"Whether there is one at all: {self.name.removeprefix('has_')}."
        return {self.name: (bool | None, Field(None, description=said))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.column.is_not(None) if wanted else self.column.is_(None)


@dataclass(frozen=True)
class Is:
    """Whether something is so; rows of which it is not known are in neither."""

    name: str
    column: Column
    says: str = "Only where this is so, or where it is known not to be."

    def parameters(self) -> Parameters:
        return {self.name: (bool | None, Field(None, description=self.says))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (wanted := given.get(self.name)) is not None:
            yield self.column.is_(wanted)


@dataclass(frozen=True)
class OfDomain:
    """Belongs to a site, which is named as people write it or by its id."""

    column: Column
    name: str = "domain"

    def parameters(self) -> Parameters:
        said = "Only of this site: its name, in any spelling, or its id."
        return {self.name: (Text | None, Field(None, description=said, examples=["example.com"]))}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (text := given.get(self.name)) is None:
            return
        wanted = read_domain(text)
        if isinstance(wanted, UUID):
            yield self.column == wanted
        else:
            named = select(Domain.id).where(owned_by(Domain, actor), Domain.domain == wanted)
            yield self.column == named.scalar_subquery()


def read_domain(text: str) -> UUID | str:
    try:
        return UUID(text)
    except ValueError:
        return _spelling(text)


def _spelling(text: str) -> str:
    """A site that may not be fetched may well be asked for: it then is as it was written."""
    try:
        return normalise_site(text, allowed_ports=range(1, 65536)).key
    except InvalidInput:
        return text.strip().lower()


@dataclass(frozen=True)
class AtLeast:
    """A number that is not below the one given."""

    name: str
    column: Column
    highest: float
    says: str

    def parameters(self) -> Parameters:
        wanted = Field(None, ge=0, le=self.highest, description=self.says)
        return {self.name: (float | None, wanted)}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (least := given.get(self.name)) is not None:
            yield self.column >= least


@dataclass(frozen=True)
class Among:
    """The value given stands in a column of several."""

    name: str
    column: Column
    says: str
    example: str

    def parameters(self) -> Parameters:
        wanted = Field(
            None, min_length=1, max_length=200, description=self.says, examples=[self.example]
        )
        return {self.name: (str | None, wanted)}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        if (wanted := given.get(self.name)) is not None:
            yield literal(wanted) == any_(self.column)
