"""Declare a table: its listing, columns, filters, bulk actions and empty state."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists import Curation, Export, Listing
from scrapersky.plurals import pluralise

Row = Any
Cell = Callable[[Row, bool], Markup]
"""Renders a row's cell; the second argument says whether the user may change rows."""
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
    columns: tuple[TableColumn, ...]
    nothing: EmptyState
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
    """Labels of filters; the default is derived from the name."""
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

    def get_label(self, name: str) -> str:
        return self.labels.get(name) or name.replace("_", " ").capitalize()

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
