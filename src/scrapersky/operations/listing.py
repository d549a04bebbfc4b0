"""The list of dead letters, and how the rows of any stage can be chosen."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Has, Listing, OneOf, When
from scrapersky.http.lists.filters import Filter
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

STATES = tuple(each.value for each in DeadLetterState)

LETTERS = Listing(
    name="DeadLetter",
    model=DeadLetter,
    filters=(
        OneOf("state", DeadLetter.state, words=STATES, default=(DeadLetterState.OPEN.value,)),
        OneOf("stage", DeadLetter.stage),
        OneOf("error_class", DeadLetter.error_class),
        OneOf("row_id", DeadLetter.row_id),
        When("died", DeadLetter.died_at),
        When("first_failed", DeadLetter.first_failed_at),
        When("closed", DeadLetter.closed_at),
        Contains("error", (DeadLetter.error,)),
        Contains(
            "text",
            # Not the traceback: who may not read it could guess it piece by piece.
            (DeadLetter.error, DeadLetter.note),
            says="In the error or the note.",
        ),
        Contains("worker", (DeadLetter.worker,), says="Part of the worker's name."),
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


def rows_of(stage: AnyStage) -> Listing:
    """The rows of a stage, chosen by its own queue columns."""
    return Listing(name="StageRow", model=stage.model, filters=_by_queue(stage), sorts={})


def _by_queue(stage: AnyStage | None) -> tuple[Filter, ...]:
    queue = stage.queue if stage else None
    filters: tuple[Filter, ...] = (
        OneOf("status", queue and queue.status, words=stage.words.all if stage else ()),
        Contains("error", (queue and queue.error,)),
        Has("has_error", queue and queue.error),
        When("due", queue and queue.due_at),
    )
    if stage is None or hasattr(stage.model, "created_at"):
        filters += (When("created", stage and stage.model.created_at),)
    return filters


ANY_ROWS = Listing(name="StageRow", model=None, filters=_by_queue(None), sorts={})
"""What all stages have in common, for the description: each has words of its own."""
