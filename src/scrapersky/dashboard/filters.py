"""Table filters (chips, menu, segments) and the URL that stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlencode
from uuid import UUID

from markupsafe import Markup

from scrapersky.dashboard.cells import shorten
from scrapersky.dashboard.formats import format_duration, format_time, humanize
from scrapersky.dashboard.table import Table
from scrapersky.lists.filters import FilterValues

PAGING_PARAMETERS = ("cursor",)
"""Parameters that become invalid when the filters change."""


@dataclass(frozen=True)
class ViewUrl:
    path: str
    values: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, path: str, given: Iterable[tuple[str, str]]) -> ViewUrl:
        return cls(path, tuple((name, value) for name, value in given if value and name != "part"))

    @property
    def href(self) -> str:
        return f"{self.path}?{urlencode(self.values)}" if self.values else self.path

    def get_values(self, name: str) -> list[str]:
        return [value for each, value in self.values if each == name]

    def without(self, *names: str) -> ViewUrl:
        """Return the URL without these parameters, on the first page."""
        gone = {*names, *PAGING_PARAMETERS}
        return ViewUrl(self.path, tuple(each for each in self.values if each[0] not in gone))

    def set_values(self, name: str, *values: str) -> ViewUrl:
        kept = self.without(name).values
        return ViewUrl(self.path, (*kept, *((name, each) for each in values)))

    def toggle_value(self, name: str, value: str, in_force: Sequence[str]) -> ViewUrl:
        """Add this value to the filter, or remove it if it is already set."""
        others = [each for each in in_force if each != value]
        return self.set_values(name, *(others if value in in_force else [*others, value]))

    def at(self, cursor: str) -> ViewUrl:
        kept = self.without().values
        return ViewUrl(self.path, (*kept, ("cursor", cursor)))


AGE_CHOICES = {
    "Last hour": "1h",
    "Last day": "1d",
    "Last 7 days": "7d",
    "Last 30 days": "30d",
}
SINCE_SUFFIX, UNTIL_SUFFIX = "_since", "_until"
BOOLEAN_LABELS = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class FilterChoice:
    label: str
    href: str
    chosen: bool


@dataclass(frozen=True)
class FilterField:
    """One filter of the menu: a set of choices or a text field."""

    name: str
    label: str
    hint: str
    kind: Literal["choices", "text", "number", "dates"]
    choices: tuple[FilterChoice, ...] = ()


@dataclass(frozen=True)
class FilterChip:
    label: str
    value: Markup
    without: str
    """URL of the list without this filter; empty for a default filter, which cannot be removed."""


def iter_leaf_types(annotation: Any) -> Iterator[Any]:
    """Yield the scalar types and literal values that a parameter accepts."""
    inner = get_args(annotation)
    if get_origin(annotation) is Literal or not inner:
        yield annotation
        return
    for each in inner:
        yield from iter_leaf_types(each)


def get_literal_values(annotation: Any) -> tuple[str, ...]:
    return next(
        (get_args(each) for each in iter_leaf_types(annotation) if get_origin(each) is Literal), ()
    )


def build_filter_fields(
    table: Table, address: ViewUrl, given: FilterValues
) -> tuple[FilterField, ...]:
    fields = table.listing.filter_model.model_fields
    made = (
        _build_filter_field(table, name, field, address, given) for name, field in fields.items()
    )
    return tuple(each for each in made if each is not None)


def _build_filter_field(
    table: Table, name: str, field: Any, address: ViewUrl, given: FilterValues
) -> FilterField | None:
    types = set(iter_leaf_types(field.annotation))
    label, hint = table.get_label(name), field.description or ""
    if name == table.search or UUID in types or (name.endswith(UNTIL_SUFFIX) and datetime in types):
        return (
            None  # the search box, filters used only by links, and the second half of a date range
        )
    if datetime in types:
        return _build_date_field(table, name.removesuffix(SINCE_SUFFIX), address)
    if words := get_literal_values(field.annotation):
        return FilterField(
            name, label, hint, "choices", build_choices(table, name, words, address, given)
        )
    if bool in types:
        return FilterField(name, label, hint, "choices", _build_boolean_choices(name, address))
    return FilterField(name, label, hint, "number" if types & {int, float} else "text")


def _build_date_field(table: Table, name: str, address: ViewUrl) -> FilterField:
    since, label = f"{name}{SINCE_SUFFIX}", table.get_label(name)
    ages = tuple(
        FilterChoice(said, address.set_values(since, age).href, address.get_values(since) == [age])
        for said, age in AGE_CHOICES.items()
    )
    return FilterField(name, label, "", "dates", ages)


def build_choices(
    table: Table, name: str, words: tuple[str, ...], address: ViewUrl, given: FilterValues
) -> tuple[FilterChoice, ...]:
    in_force = [str(each) for each in given.get(name) or ()]
    return tuple(
        FilterChoice(
            humanize(word), address.toggle_value(name, word, in_force).href, word in in_force
        )
        for word in words
    )


def _build_boolean_choices(name: str, address: ViewUrl) -> tuple[FilterChoice, ...]:
    said = address.get_values(name)
    return tuple(
        FilterChoice(label, address.set_values(name, word).href, said == [word])
        for word, label in BOOLEAN_LABELS.items()
    )


def build_segments(table: Table, address: ViewUrl, given: FilterValues) -> tuple[FilterChoice, ...]:
    """Build a segment for each value of the table's main filter, and one for all."""
    if not table.segments:
        return ()
    field = table.listing.filter_model.model_fields[table.segments]
    words, in_force = get_literal_values(field.annotation), given.get(table.segments)
    every = address.set_values(table.segments, *(words if field.default else ()))
    return (
        FilterChoice("All", every.href, not in_force or len(in_force) == len(words)),
        *(
            FilterChoice(
                humanize(word), address.set_values(table.segments, word).href, in_force == [word]
            )
            for word in words
        ),
    )


def build_chips(table: Table, address: ViewUrl, given: FilterValues) -> tuple[FilterChip, ...]:
    return tuple(
        FilterChip(_get_label(table, name), _format_value(value), _get_removal_url(address, name))
        for name, value in given.items()
    )


def _get_removal_url(address: ViewUrl, name: str) -> str:
    return address.without(name).href if address.get_values(name) else ""


def _get_label(table: Table, name: str) -> str:
    for end in (SINCE_SUFFIX, UNTIL_SUFFIX):
        if name.endswith(end):
            return f"{table.get_label(name.removesuffix(end))} {end[1:]}"
    return table.get_label(name)


def _format_value(value: Any) -> Markup:
    if isinstance(value, bool):
        return Markup("yes") if value else Markup("no")
    if isinstance(value, timedelta):
        return Markup("{} ago").format(format_duration(value.total_seconds()))
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, list):
        return shorten(", ".join(humanize(str(each)) for each in value), 60)
    return shorten(value, 60)
