"""Declare a table: its listing, special cells, bulk actions and empty state."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.cells import Cell, Row, build_cell
from scrapersky.lists import SHOWN, CellKind, Curation, Export, Listing
from scrapersky.lists.columns import Visibility
from scrapersky.plurals import pluralise

PrepareRows = Callable[[AsyncSession, Sequence[Row]], Awaitable[Sequence[Row]]]
SHORTCUT_KEYS = {"Selected": "s", "Maybe": "m", "Not a Fit": "n", "Skipped": "n", "Archived": "a"}


@dataclass(frozen=True)
class TableColumn:
    name: str
    title: str
    cell: Cell
    sort: str | None = None
    """Sort order of the listing that a click on the heading selects."""
    number: bool = False
    usual: bool = True
    """Whether it is shown by default."""


@dataclass(frozen=True)
class TableAction:
    """A bulk action, by an API route that takes ids or a filter."""

    label: str
    path: str
    done: str
    """Past participle for the message: `12 leads marked Selected`."""
    body: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    danger: bool = False
    by_filter: bool = True
    """Whether the route accepts the list's filter in addition to ids."""

    @property
    def body_json(self) -> str:
        return json.dumps(dict(self.body))


@dataclass(frozen=True)
class EmptyState:
    """Text and link shown while the list has no rows at all."""

    sentence: str
    link: str = ""
    label: str = ""


@dataclass(frozen=True)
class Table:
    kind: str
    """Path segment in the dashboard and the API."""
    title: str
    noun: str
    says: str
    listing: Listing
    nothing: EmptyState
    order: str = ""
    """Names of the first columns, separated by spaces; the others follow as in the listing."""
    cells: Mapping[str, Cell] = field(default_factory=dict)
    """Cells that show more than the value of the listing's column."""
    extra: tuple[TableColumn, ...] = ()
    """Columns that the listing does not have, or that replace one of its columns."""
    curation: Curation | None = None
    acts: tuple[TableAction, ...] = ()
    export: Export | None = None
    hands_in: str = ""
    """Kind on the import page; empty if it cannot be imported."""
    segments: str = ""
    """Filter whose values are shown as tabs above the table."""
    search: str = "search"
    """Filter of the search box; empty if there is none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of filters, if they are neither the heading of a column nor derived from the name."""
    prepare: PrepareRows | None = None
    """Adds data that the cells need to the rows of a page."""

    adds: str = ""
    """Template of the dialog that adds rows."""
    begins: bool = False
    """Whether the empty state's link is also shown above the rows."""

    @property
    def nouns(self) -> str:
        return pluralise(self.noun)

    @property
    def all_acts(self) -> tuple[TableAction, ...]:
        return (*_build_decision_actions(self.curation), *self.acts)

    @cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        known = {each.name: each for each in (*self._build_columns(), *self.extra)}
        return tuple(known[name] for name in dict.fromkeys((*self.order.split(), *known)))

    def _build_columns(self) -> Iterable[TableColumn]:
        for each in self.listing.all_columns:
            if each.table is not Visibility.HIDDEN:
                yield TableColumn(
                    each.name,
                    each.title,
                    self.cells.get(each.name) or build_cell(each),
                    sort=each.name if each.sort else None,
                    number=each.cell_kind is CellKind.NUMBER,
                    usual=each.table is SHOWN,
                )

    def get_label(self, name: str) -> str:
        known = self.labels.get(name) or self.listing.filter_labels.get(name)
        return known or name.replace("min_", "minimum ").replace("_", " ").capitalize()

    def select_columns(self, names: Sequence[str] | None) -> tuple[TableColumn, ...]:
        """Return the chosen columns, or the default ones if none of the names is valid."""
        chosen = tuple(each for each in self.columns if names and each.name in names)
        return chosen or tuple(each for each in self.columns if each.usual)


def _build_decision_actions(curation: Curation | None) -> tuple[TableAction, ...]:
    if curation is None:
        return ()
    path = f"/{curation.rows}/curate"
    return tuple(
        TableAction(word, path, f"marked {word}", {"status": word}, SHORTCUT_KEYS.get(word, ""))
        for word in curation.decisions
    )
