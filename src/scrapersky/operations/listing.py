"""Lists of dead letters and of the rows of any stage: columns and filters."""

from __future__ import annotations

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    DateRangeFilter,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.lists.filters import ListFilter
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

DEAD_LETTER_STATES = tuple(each.value for each in DeadLetterState)

DEAD_LETTER_LISTING = Listing(
    name="DeadLetter",
    model=DeadLetter,
    columns=(
        Column(DeadLetter.id),
        Column(DeadLetter.stage, filter=True, sort=True, table=SHOWN, cell=CellKind.WORD, cli=True),
        Column(DeadLetter.row_id, filter=True),
        Column(
            DeadLetter.state,
            filter=ChoiceFilter(words=DEAD_LETTER_STATES, default=(DeadLetterState.OPEN.value,)),
            table=SHOWN,
            cell=CellKind.STATUS,
            cli=True,
            example="open",
        ),
        Column(DeadLetter.attempts, sort=True, table=SHOWN, cli=True),
        Column(DeadLetter.died_at, "Failed", filter=True, sort=True, table=SHOWN, cli=True),
        Column(DeadLetter.error_class, filter=True, sort=True, example="Rejected"),
        Column(
            DeadLetter.error,
            filter=TextFilter(),
            cli=True,
            example="nowhere.example does not resolve.",
        ),
        Column(
            DeadLetter.worker, filter=TextFilter(says="Part of the worker's name."), table=OPTIONAL
        ),
        Column(DeadLetter.first_failed_at, "First failed", filter=True, sort=True, table=OPTIONAL),
        Column(DeadLetter.note),
        Column(DeadLetter.closed_at, "Closed", filter=True, sort=True, table=OPTIONAL),
        Column(DeadLetter.closed_by),
    ),
    filters=(
        TextFilter(
            "text",
            # Exclude the traceback: users who may not read it could otherwise guess it piece by
            # piece.
            columns=(DeadLetter.error, DeadLetter.note),
            says="In the error or the note.",
        ),
    ),
    default_sort="-died_at",
)


def build_stage_listing(stage: AnyStage) -> Listing:
    """Build the listing of a stage's rows, filtered by its queue columns."""
    return Listing(name="StageRow", model=stage.model, filters=_build_queue_filters(stage))


def _build_queue_filters(stage: AnyStage | None) -> tuple[ListFilter, ...]:
    queue = stage.queue if stage else None
    filters: tuple[ListFilter, ...] = (
        ChoiceFilter("status", queue and queue.status, words=stage.words.all if stage else ()),
        TextFilter("error", queue and queue.error),
        PresenceFilter("has_error", queue and queue.error),
        DateRangeFilter("due", queue and queue.due_at),
    )
    if stage is None or hasattr(stage.model, "created_at"):
        filters += (DateRangeFilter("created", stage and stage.model.created_at),)
    return filters


STAGE_ROWS = Listing(name="StageRow", model=None, filters=_build_queue_filters(None))
"""The filters that all stages share, for the OpenAPI description. The status words differ by stage.
"""
