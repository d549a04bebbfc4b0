"""The do-not-contact table."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.contacts.listing import SUPPRESSIONS as LISTING
from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row, add_creator_names, creator
from scrapersky.dashboard.table import EmptyState, Table, TableColumn

ERASED_LABEL = Markup('<span class="soft">erased person (digest only)</span>')
REMOVE_QUESTION = "Remove from the do-not-contact list? It can be contacted again."


def _value(row: Row, _: bool) -> Markup:
    return cells.shorten(row.value) if row.value else ERASED_LABEL


def _remove_cell(row: Row, may_change: bool) -> Markup:
    if not may_change:
        return Markup("")
    path, done = f"/suppressions/{row.id}", "Removed from the list"
    return cells.row_button(row, cells.RowButton("Remove", "DELETE", path, REMOVE_QUESTION, done))


SUPPRESSIONS_TABLE = Table(
    kind="suppressions",
    title="Do-not-contact",
    noun="entry",
    says="Excluded from all leads and exports.",
    listing=LISTING,
    prepare=add_creator_names,
    adds="tables/add_suppressions.html",
    labels={"value": "Exact value"},
    order="value kind reason who",
    cells={"value": _value},
    extra=(
        TableColumn("who", "Added by", creator),
        TableColumn("remove", "Remove", _remove_cell),
    ),
    nothing=EmptyState(
        "The list is empty. Add e-mail addresses, phone numbers or whole domains that must not be "
        "contacted."
    ),
)
