"""Declare a table: its listing, columns, filters, bulk actions and empty state."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists import Curation, Export, Listing

Row = Any
Cell = Callable[[Row, bool], Markup]
"""How a row reads in a column; told whether the one who looks may change rows."""
PrepareRows = Callable[[AsyncSession, Sequence[Row]], Awaitable[Sequence[Row]]]

"""Words that tell how far a decision has come; no person decides them."""
SHORTCUT_KEYS = {"Selected": "s", "Maybe": "m", "Not a Fit": "n", "Skipped": "n", "Archived": "a"}


@dataclass(frozen=True)
class TableColumn:
    name: str
    title: str
    cell: Cell
    sort: str | None = None
    """By which of the list's orders a click on its heading sorts."""
    number: bool = False
    usual: bool = True
    """Whether it is shown unless others are chosen."""


@dataclass(frozen=True)
class TableAction:
    """What can be done to many rows, by a route of the API that takes ids or a filter."""

    label: str
    path: str
    done: str
    """What the rows are then, for the message: `12 leads are Selected now.`"""
    body: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    danger: bool = False
    by_filter: bool = True
    """Whether the route takes the filter of this list, and not only ids."""

    @property
    def body_json(self) -> str:
        return json.dumps(dict(self.body))


@dataclass(frozen=True)
class EmptyState:
    """What stands there while there is no row at all: what to do next."""

    sentence: str
    link: str = ""
    label: str = ""


@dataclass(frozen=True)
class Table:
    kind: str
    """In its address, here and in the API."""
    title: str
    noun: str
    says: str
    listing: Listing
    columns: tuple[TableColumn, ...]
    nothing: EmptyState
    curation: Curation | None = None
    acts: tuple[TableAction, ...] = ()
    export: Export | None = None
    hands_in: str = ""
    """The kind that `/import` takes for it."""
    segments: str = ""
    """The filter whose words stand above the table, one click each."""
    search: str = "search"
    """The filter of the search box; empty where there is none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of filters whose name does not say enough."""
    prepare: PrepareRows | None = None
    """Adds to the rows of a page what their cells need."""

    adds: str = ""
    """The template of a dialog by which rows are added here."""
    begins: bool = False
    """Whether the way to a first row is offered above the rows, too."""

    @property
    def nouns(self) -> str:
        if self.noun.endswith(("ch", "s")):
            return f"{self.noun}es"
        if self.noun.endswith("y"):
            return f"{self.noun[:-1]}ies"
        return f"{self.noun}es" if self.noun.endswith("s") else f"{self.noun}s"

    @property
    def all_acts(self) -> tuple[TableAction, ...]:
        return (*_build_decision_actions(self.curation), *self.acts)

    def get_label(self, name: str) -> str:
        return self.labels.get(name) or name.replace("_", " ").capitalize()

    def select_columns(self, names: Sequence[str] | None) -> tuple[TableColumn, ...]:
        """Those that were chosen and are known; the usual ones when none is."""
        chosen = tuple(each for each in self.columns if names and each.name in names)
        return chosen or tuple(each for each in self.columns if each.usual)


def _build_decision_actions(curation: Curation | None) -> tuple[TableAction, ...]:
    if curation is None:
        return ()
    path = f"/{curation.rows}/curate"
    return tuple(
        TableAction(word, path, f"{word} now", {"status": word}, SHORTCUT_KEYS.get(word, ""))
        for word in curation.decisions
    )
