"""Filters and sorting of dead letters and of the rows of any stage."""

from __future__ import annotations

from scrapersky.lists import ChoiceFilter, DateRangeFilter, Listing, PresenceFilter, TextFilter
from scrapersky.lists.filters import ListFilter
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

DEAD_LETTER_STATES = tuple(each.value for each in DeadLetterState)

DEAD_LETTER_LISTING = Listing(
    name="DeadLetter",
    model=DeadLetter,
    filters=(
        ChoiceFilter(
            "state",
            DeadLetter.state,
            words=DEAD_LETTER_STATES,
            default=(DeadLetterState.OPEN.value,),
        ),
        ChoiceFilter("stage", DeadLetter.stage),
        ChoiceFilter("error_class", DeadLetter.error_class),
        ChoiceFilter("row_id", DeadLetter.row_id),
        DateRangeFilter("died", DeadLetter.died_at),
        DateRangeFilter("first_failed", DeadLetter.first_failed_at),
        DateRangeFilter("closed", DeadLetter.closed_at),
        TextFilter("error", (DeadLetter.error,)),
        TextFilter(
            "text",
            # Exclude the traceback: users who may not read it could otherwise guess it piece by
            # piece.
            (DeadLetter.error, DeadLetter.note),
            says="In the error or the note.",
        ),
        TextFilter("worker", (DeadLetter.worker,), says="Part of the worker's name."),
    ),
    sorts={
        "died_at": DeadLetter.died_at,
        "first_failed_at": DeadLetter.first_failed_at,
        "closed_at": DeadLetter.closed_at,
        "stage": DeadLetter.stage,
        "error_class": DeadLetter.error_class,
        "attempts": DeadLetter.attempts,
    },
    default_sort="-died_at",
)


def build_stage_listing(stage: AnyStage) -> Listing:
    """Build the listing of a stage's rows, filtered by its queue columns."""
    return Listing(
        name="StageRow", model=stage.model, filters=_build_queue_filters(stage), sorts={}
    )


def _build_queue_filters(stage: AnyStage | None) -> tuple[ListFilter, ...]:
    queue = stage.queue if stage else None
    filters: tuple[ListFilter, ...] = (
        ChoiceFilter("status", queue and queue.status, words=stage.words.all if stage else ()),
        TextFilter("error", (queue and queue.error,)),
        PresenceFilter("has_error", queue and queue.error),
        DateRangeFilter("due", queue and queue.due_at),
    )
    if stage is None or hasattr(stage.model, "created_at"):
        filters += (DateRangeFilter("created", stage and stage.model.created_at),)
    return filters


STAGE_ROWS = Listing(name="StageRow", model=None, filters=_build_queue_filters(None), sorts={})
"""The filters that all stages share, for the OpenAPI description. The status words differ by stage.
"""
