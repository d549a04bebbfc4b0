"""The outcome of an attempt, and the retry policy that turns an error into one."""

from __future__ import annotations

import random
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scrapersky.db.outages import is_unavailable
from scrapersky.errors import (
    DatabaseUnavailable,
    Rejected,
    ResourceExhausted,
    RetryLater,
    RowInterrupted,
    ScraperSkyError,
    Skipped,
)
from scrapersky.pipeline.queue import (
    ISOLATE_AFTER_RESCUES,
    Claim,
    LossTally,
    RowChange,
    StatusNames,
)
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.vitals import find_exhausted_resource, get_retry_delay
from scrapersky.redaction import redact
from scrapersky.settings import Settings

MAX_ERROR_CHARACTERS = 1024
MAX_SUMMARY_CHARACTERS = 300
MAX_TRACEBACK_CHARACTERS = 64 * 1024
JITTER = 0.1
MAX_INTERRUPTIONS = 20
"""So many times in a row a row's own statements were interrupted, and it is taken for the cause:
it fails. Other outages are not counted, see decision 0028."""
INTERRUPTION_BACKOFF = timedelta(seconds=1), timedelta(minutes=1)
"""The first delay after an outage, and the longest."""
NO_RESULT: Any = object()
"""No result, told apart from a result that is None."""


class LostClaim(ScraperSkyError):
    """Somebody else has the row now, or it was cancelled; what we did for it is not stored."""


class WorkTimedOut(ScraperSkyError):
    """The stage's timeout fired."""


class WorkerDied(ScraperSkyError):
    """The process that had claimed the row is gone, or its lease ran out."""


LOSS_TALLIES = {
    EventKind.RESCUED: LossTally.RESCUED,
    EventKind.INTERRUPTED: LossTally.INTERRUPTED,
    EventKind.SNOOZED: LossTally.KEEP,
    EventKind.HANDED_BACK: LossTally.KEEP,
}
"""Every other kind is a verdict on the row, and clears its counts."""


@dataclass(frozen=True)
class AttemptOutcome:
    """The end of one attempt at one row."""

    claim: Claim
    kind: EventKind
    result: Any = NO_RESULT
    error: str | None = None
    error_class: str = ""
    traceback: str | None = None
    delay: timedelta | None = None
    refund: int = 0
    tally: LossTally | None = None
    """What it does to the row's counts; by default what `TALLIES` says for its kind."""

    def change(self, words: StatusNames) -> RowChange:
        status = {
            EventKind.COMPLETED: words.done,
            EventKind.SKIPPED: words.skipped or words.done,
            EventKind.FAILED: words.failed,
        }.get(self.kind, words.queued)
        return RowChange(
            row_id=self.claim.row_id,
            token=self.claim.token,
            status=status,
            delay=self.delay,
            refund=self.refund,
            error=self.error,
            tally=self.tally or LOSS_TALLIES.get(self.kind, LossTally.CLEAR),
        )


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how long to wait in between."""

    max_attempts: int
    base: timedelta
    cap: timedelta

    @classmethod
    def from_settings(cls, settings: Settings, max_attempts: int) -> RetryPolicy:
        return cls(
            max_attempts=max_attempts,
            base=timedelta(seconds=settings.retry_base_seconds),
            cap=timedelta(seconds=settings.retry_cap_seconds),
        )

    def get_backoff(self, attempts: int) -> timedelta:
        """Twice as long after each attempt, up to the cap, give or take a tenth."""
        return _compute_backoff(self.base, self.cap, attempts)


def _compute_backoff(base: timedelta, cap: timedelta, times: int) -> timedelta:
    doubled: timedelta = base * 2.0 ** min(max(times - 1, 0), 20)
    return min(cap, doubled) * random.uniform(1 - JITTER, 1 + JITTER)


def build_completed(claim: Claim, result: Any = NO_RESULT) -> AttemptOutcome:
    return AttemptOutcome(claim, EventKind.COMPLETED, result=result)


def build_handed_back(claim: Claim) -> AttemptOutcome:
    """Due again at once, as if it had never been claimed."""
    return AttemptOutcome(claim, EventKind.HANDED_BACK, delay=timedelta(0), refund=1)


def build_error_outcome(claim: Claim, error: BaseException, rule: RetryPolicy) -> AttemptOutcome:
    """What an exception means for the row: the stage's verdict, or a failure like any other."""
    if isinstance(error, Skipped):
        return AttemptOutcome(claim, EventKind.SKIPPED, error=format_error(error))
    if isinstance(error, RetryLater):
        return AttemptOutcome(
            claim, EventKind.SNOOZED, error=format_error(error), delay=error.after, refund=1
        )
    if (limit := find_exhausted_resource(error)) is not None:
        return outcome_of_own_limit(claim, limit)
    if isinstance(error, RowInterrupted):
        return outcome_of_interruption(claim, error)
    if isinstance(error, DatabaseUnavailable) or is_unavailable(error):
        return build_outage_outcome(claim, error)
    final = isinstance(error, Rejected) or claim.attempts >= rule.max_attempts
    return AttemptOutcome(
        claim,
        EventKind.FAILED if final else EventKind.RETRIED,
        error=format_error(error),
        error_class=type(error).__name__,
        traceback=format_traceback(error),
        delay=None if final else rule.get_backoff(claim.attempts),
    )


def outcome_of_own_limit(claim: Claim, limit: ResourceExhausted) -> AttemptOutcome:
    """Hand the row back: nothing counts, and it waits until there may be room again."""
    return AttemptOutcome(
        claim, EventKind.HANDED_BACK, error=format_error(limit), delay=get_retry_delay(), refund=1
    )


def build_outage_outcome(claim: Claim, error: BaseException) -> AttemptOutcome:
    """Requeue a row that a database outage ended outside of the row's own statements: the attempt
    is refunded and nothing is counted, however often it happens."""
    first, longest = INTERRUPTION_BACKOFF
    return AttemptOutcome(
        claim,
        EventKind.INTERRUPTED,
        error=format_error(error),
        error_class=type(error).__name__,
        delay=_compute_backoff(first, longest, claim.interruptions + 1),
        refund=1,
        tally=LossTally.KEEP,
    )


def outcome_of_interruption(claim: Claim, error: BaseException) -> AttemptOutcome:
    """Requeue a row whose own statements were interrupted, with its attempt. Within bounds, because
    a row whose statements break connections would otherwise do so for ever."""
    again = claim.interruptions + 1
    first, longest = INTERRUPTION_BACKOFF
    final = again >= MAX_INTERRUPTIONS
    return AttemptOutcome(
        claim,
        EventKind.FAILED if final else EventKind.INTERRUPTED,
        error=format_error(error),
        error_class=type(error).__name__,
        traceback=format_traceback(error) if final else None,
        delay=None if final else _compute_backoff(first, longest, again),
        refund=0 if final else 1,
    )


def build_rescue_outcome(claim: Claim, error: WorkerDied, rule: RetryPolicy) -> AttemptOutcome:
    """Requeue a row that was lost with its worker, or fail it when it keeps killing workers.

    A worker that dies takes all its rows with it, and at most one of them is to blame. So the
    first losses cost no attempt. From ISOLATE_AFTER_RESCUES on the row is worked alone: what is
    lost then was not lost because of a neighbour, and counts.
    """
    was_alone = claim.rescues >= ISOLATE_AFTER_RESCUES
    if was_alone and claim.attempts >= rule.max_attempts:
        return build_error_outcome(claim, error, rule)
    return AttemptOutcome(
        claim,
        EventKind.RESCUED,
        error=format_error(error),
        error_class=type(error).__name__,
        delay=rule.get_backoff(claim.rescues) if claim.rescues else timedelta(0),
        refund=0 if was_alone else 1,
    )


def format_error(error: BaseException) -> str:
    """The error as one text for a row: ours as written, others with their class; never long."""
    text = redact(str(error)).strip().replace("\x00", "") or type(error).__name__
    if not isinstance(error, ScraperSkyError):
        text = f"{type(error).__name__}: {text}" if text != type(error).__name__ else text
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[: MAX_ERROR_CHARACTERS - 1] + "…"


def summarize_error(error: BaseException) -> str:
    """The first line of the error, for health and alerts, which every tenant's viewers may read.

    Drivers put the statement, its parameters and the offending values on the lines below.
    """
    text = format_error(error).splitlines()[0]
    limit = MAX_SUMMARY_CHARACTERS
    return text if len(text) <= limit else text[: limit - 1] + "…"


def format_traceback(error: BaseException) -> str | None:
    if error.__traceback__ is None:
        return None
    text = "".join(traceback.format_exception(error)).replace("\x00", "")
    return redact(text)[-MAX_TRACEBACK_CHARACTERS:]
