"""Dead letters: rows that were given up, and why."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import badge, in_words
from scrapersky.operations.listing import LETTERS
from scrapersky.pipeline.tables import DeadLetterState

REPLAY = "/dead-letters/replay"
_opens = cells.opens("dead-letters", cells.value("error"), most=120)


def _error(row: Row, may_change: bool) -> Markup:
    return _opens(row, may_change) + cells.below(row.error_class)


def _stage(row: Row, _: bool) -> Markup:
    return cells.brief(in_words(row.stage))


def _state(row: Row, may_change: bool) -> Markup:
    said = badge(row.state) + cells.below(row.note)
    is_open = row.state == DeadLetterState.OPEN
    return said + cells.again(row, REPLAY, "Replay") if is_open and may_change else said


DEAD_LETTERS = Table(
    kind="dead-letters",
    title="Dead letters",
    noun="dead letter",
    says="Rows that were given up after all their attempts. Replay those whose cause is gone.",
    listing=LETTERS,
    segments="state",
    search="text",
    acts=(
        Act("Replay", REPLAY, "started anew", key="r"),
        Act("Discard", "/dead-letters/discard", "discarded", key="d", danger=True),
    ),
    labels={"died": "Given up", "first_failed": "First failed", "closed": "Closed"},
    columns=(
        Column("error", "Error", _error, sort="error_class"),
        Column("stage", "Stage", _stage, sort="stage"),
        Column("state", "State", _state),
        Column("attempts", "Attempts", cells.number("attempts"), sort="attempts", number=True),
        Column("died_at", "Given up", cells.moment("died_at"), sort="died_at"),
        Column("worker", "Worker", cells.text("worker", 40), usual=False),
        Column(
            "first_failed_at",
            "First failed",
            cells.moment("first_failed_at"),
            sort="first_failed_at",
            usual=False,
        ),
        Column("closed_at", "Closed", cells.moment("closed_at"), "closed_at", usual=False),
    ),
    nothing=Nothing(
        "No row waits for you: none was given up, or all were replayed or discarded. One that "
        "fails for good stands here with the reason."
    ),
)
