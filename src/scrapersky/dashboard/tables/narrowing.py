"""The filters of a table as people see them: those in force as chips, and a menu of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from markupsafe import Markup

from scrapersky.dashboard.tables.address import Address
from scrapersky.dashboard.tables.cells import brief
from scrapersky.dashboard.tables.table import Table
from scrapersky.dashboard.wording import duration, in_words, moment
from scrapersky.http.lists.filters import Given

AGES = {
    "the last hour": "1h",
    "the last day": "1d",
    "the last 7 days": "7d",
    "the last 30 days": "30d",
}
SINCE, UNTIL = "_since", "_until"
YES_NO = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class Choice:
    label: str
    href: str
    chosen: bool


@dataclass(frozen=True)
class Entry:
    """One way to narrow the list: by choices, or by what is typed."""

    name: str
    label: str
    hint: str
    kind: Literal["choices", "text", "number", "dates"]
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Chip:
    label: str
    value: Markup
    without: str
    """Where the same list is without it; empty for what holds unless another is said."""


def leaves(annotation: Any) -> Iterator[Any]:
    """The plain types, and the words, that a parameter takes."""
    inner = get_args(annotation)
    if get_origin(annotation) is Literal or not inner:
        yield annotation
        return
    for each in inner:
        yield from leaves(each)


def words_of(annotation: Any) -> tuple[str, ...]:
    return next((get_args(each) for each in leaves(annotation) if get_origin(each) is Literal), ())


def entries(table: Table, address: Address, given: Given) -> tuple[Entry, ...]:
    fields = table.listing.filter_model.model_fields
    made = (_entry(table, name, field, address, given) for name, field in fields.items())
    return tuple(each for each in made if each is not None)


def _entry(table: Table, name: str, field: Any, address: Address, given: Given) -> Entry | None:
    types = set(leaves(field.annotation))
    label, hint = table.label_of(name), field.description or ""
    if name == table.search or UUID in types or (name.endswith(UNTIL) and datetime in types):
        return None  # the search box, what only links lead to, and the other half of a span
    if datetime in types:
        return _dates(table, name.removesuffix(SINCE), address)
    if words := words_of(field.annotation):
        return Entry(name, label, hint, "choices", choices(table, name, words, address, given))
    if bool in types:
        return Entry(name, label, hint, "choices", _yes_or_no(name, address))
    return Entry(name, label, hint, "number" if types & {int, float} else "text")


def _dates(table: Table, name: str, address: Address) -> Entry:
    since, label = f"{name}{SINCE}", table.label_of(name)
    ages = tuple(
        Choice(said, address.setting(since, age).href, address.of_name(since) == [age])
        for said, age in AGES.items()
    )
    return Entry(name, label, "", "dates", ages)


def choices(
    table: Table, name: str, words: tuple[str, ...], address: Address, given: Given
) -> tuple[Choice, ...]:
    in_force = [str(each) for each in given.get(name) or ()]
    return tuple(
        Choice(in_words(word), address.toggling(name, word, in_force).href, word in in_force)
        for word in words
    )


def _yes_or_no(name: str, address: Address) -> tuple[Choice, ...]:
    said = address.of_name(name)
    return tuple(
        Choice(label, address.setting(name, word).href, said == [word])
        for word, label in YES_NO.items()
    )


def segments(table: Table, address: Address, given: Given) -> tuple[Choice, ...]:
    """One word of the most used filter each, and all of them."""
    if not table.segments:
        return ()
    field = table.listing.filter_model.model_fields[table.segments]
    words, in_force = words_of(field.annotation), given.get(table.segments)
    every = address.setting(table.segments, *(words if field.default else ()))
    return (
        Choice("All", every.href, not in_force or len(in_force) == len(words)),
        *(
            Choice(in_words(word), address.setting(table.segments, word).href, in_force == [word])
            for word in words
        ),
    )


def chips(table: Table, address: Address, given: Given) -> tuple[Chip, ...]:
    return tuple(
        Chip(_label(table, name), _said(value), _without(address, name))
        for name, value in given.items()
    )


def _without(address: Address, name: str) -> str:
    return address.without(name).href if address.of_name(name) else ""


def _label(table: Table, name: str) -> str:
    for end in (SINCE, UNTIL):
        if name.endswith(end):
            return f"{table.label_of(name.removesuffix(end))} {end[1:]}"
    return table.label_of(name)


def _said(value: Any) -> Markup:
    if isinstance(value, bool):
        return Markup("yes") if value else Markup("no")
    if isinstance(value, timedelta):
        return Markup("{} ago").format(duration(value.total_seconds()))
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, list):
        return brief(", ".join(in_words(str(each)) for each in value), 60)
    return brief(value, 60)
