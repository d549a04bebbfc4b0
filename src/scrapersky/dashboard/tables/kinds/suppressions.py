"""The do-not-contact list."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.contacts.listing import SUPPRESSIONS as LISTING
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.kinds.people import who, with_names
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table

ERASED = Markup('<span class="soft">an erased person: only a digest is kept</span>')
ASKS = "Take this off the do-not-contact list? It may be written to again."


def _value(row: Row, _: bool) -> Markup:
    return cells.brief(row.value) if row.value else ERASED


def _remove(row: Row, may_change: bool) -> Markup:
    if not may_change:
        return Markup("")
    path, done = f"/suppressions/{row.id}", "It is off the list."
    return cells.row_act(row, cells.RowAct("Remove", "DELETE", path, ASKS, done))


SUPPRESSIONS = Table(
    kind="suppressions",
    title="Do-not-contact",
    noun="entry",
    says="What stands here is in no lead and no export, whatever pages say.",
    listing=LISTING,
    prepare=with_names,
    adds="tables/add_suppressions.html",
    labels={"created": "Added", "value": "Exactly"},
    columns=(
        Column("value", "Address, number or domain", _value, sort="value"),
        Column("kind", "Kind", cells.word("kind")),
        Column("reason", "Reason", cells.text("reason")),
        Column("who", "Added by", who),
        Column("created_at", "Added", cells.moment("created_at"), sort="created_at"),
        Column("remove", "Remove", _remove),
    ),
    nothing=Nothing(
        "Nobody is on the list. Add addresses, numbers or whole domains that are not to be "
        "written to."
    ),
)
