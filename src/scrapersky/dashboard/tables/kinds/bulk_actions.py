"""Bulk actions: what people decided about many rows at once."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.curation.listing import BULK_ACTIONS as LISTING
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.kinds.people import who, with_names
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table
from scrapersky.dashboard.wording import badge, in_words, moment, number

ASKS = "Take this decision back? Rows that somebody changed since stay as they are."


def _what(row: Row, _: bool) -> Markup:
    rows = (
        f"{number(row.updated_count)} {in_words(row.kind)}{'' if row.updated_count == 1 else 's'}"
    )
    return Markup("{} → {}").format(rows, badge(row.to_status))


def _chosen(row: Row, _: bool) -> Markup:
    """Which rows were meant: so many that were ticked, or a filter."""
    if row.details.get("ids"):
        return Markup("{} chosen one by one").format(number(row.details["ids"]))
    meant = row.details.get("filter") or {}
    said = "; ".join(f"{in_words(name)}: {_plain(value)}" for name, value in meant.items())
    return cells.brief(said or "all there were", 120)


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _undo(row: Row, may_change: bool) -> Markup:
    if row.undone_at:
        return Markup("undone ") + moment(row.undone_at)
    if not may_change:
        return Markup("")
    named, done = {"action_id": str(row.id)}, "It was taken back."
    return cells.row_act(row, cells.RowAct("Undo", "POST", "/bulk-actions/undo", ASKS, done, named))


BULK_ACTIONS = Table(
    kind="bulk-actions",
    title="Bulk actions",
    noun="action",
    says="What was decided about many rows at once. Each can be taken back.",
    listing=LISTING,
    search="",
    prepare=with_names,
    labels={
        "kind": "Rows",
        "to_status": "Decision",
        "created": "When",
        "has_undone_at": "Is undone",
    },
    columns=(
        Column("what", "What", _what, sort="updated_count"),
        Column("chosen", "Which rows", _chosen),
        Column("queued_count", "Queued", cells.number("queued_count"), number=True),
        Column("who", "Who", who),
        Column("created_at", "When", cells.moment("created_at"), sort="created_at"),
        Column("undo", "Undo", _undo, sort="undone_at"),
    ),
    nothing=Nothing(
        "Nothing was decided about many rows yet. Tick rows in any table and decide about them: "
        "it stands here, and can be undone.",
        "/leads",
        "To the leads",
    ),
)
