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
"""Consecutive interruptions of a row's own statements after which the row fails.

The row is then considered their cause. Other outages are not counted, see decision 0028.
"""
INTERRUPTION_BACKOFF = timedelta(seconds=1), timedelta(minutes=1)
"""The first and the longest delay after an outage."""
NO_RESULT: Any = object()
"""Marks the absence of a result, as opposed to a result that is None."""


class LostClaim(ScraperSkyError):
    """The claim was lost: another worker has the row, or it was cancelled. Nothing is stored."""


class WorkTimedOut(ScraperSkyError):
    """The stage's timeout fired."""


class WorkerDied(ScraperSkyError):
    """The worker that had claimed the row is dead, or the lease expired."""


LOSS_TALLIES = {
    EventKind.RESCUED: LossTally.RESCUED,
    EventKind.INTERRUPTED: LossTally.INTERRUPTED,
    EventKind.SNOOZED: LossTally.KEEP,
    EventKind.HANDED_BACK: LossTally.KEEP,
}
"""How outcomes change a row's loss counts.

Every other kind is a verdict on the row, and clears them.
"""


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
    """How it changes the row's loss counts. By default, as LOSS_TALLIES says for its kind."""

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
    """The number of attempts, and the delays between them."""

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
        """Return the delay after an attempt: exponential up to the cap, with a jitter of 10 %."""
        return _compute_backoff(self.base, self.cap, attempts)


def _compute_backoff(base: timedelta, cap: timedelta, times: int) -> timedelta:
    doubled: timedelta = base * 2.0 ** min(max(times - 1, 0), 20)
    return min(cap, doubled) * random.uniform(1 - JITTER, 1 + JITTER)


def build_completed(claim: Claim, result: Any = NO_RESULT) -> AttemptOutcome:
    return AttemptOutcome(claim, EventKind.COMPLETED, result=result)


def build_handed_back(claim: Claim) -> AttemptOutcome:
    """Requeue the row immediately, as if it had never been claimed."""
    return AttemptOutcome(claim, EventKind.HANDED_BACK, delay=timedelta(0), refund=1)


def build_error_outcome(claim: Claim, error: BaseException, rule: RetryPolicy) -> AttemptOutcome:
    """Map an exception to an outcome: the stage's verdict, an outage, or a failure."""
    if isinstance(error, Skipped):
        return AttemptOutcome(claim, EventKind.SKIPPED, error=format_error(error))
    if isinstance(error, RetryLater):
        return AttemptOutcome(
            claim, EventKind.SNOOZED, error=format_error(error), delay=error.after, refund=1
        )
    if (limit := find_exhausted_resource(error)) is not None:
        return build_resource_outcome(claim, limit)
    if isinstance(error, RowInterrupted):
        return build_interruption_outcome(claim, error)
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


def build_resource_outcome(claim: Claim, limit: ResourceExhausted) -> AttemptOutcome:
    """Requeue a row after this process ran out of a resource.

    The attempt is refunded and nothing is counted. The row is delayed until the resource may be
    available again.
    """
    return AttemptOutcome(
        claim, EventKind.HANDED_BACK, error=format_error(limit), delay=get_retry_delay(), refund=1
    )


def build_outage_outcome(claim: Claim, error: BaseException) -> AttemptOutcome:
    """Requeue a row after a database outage outside of the row's own statements.

    The attempt is refunded and nothing is counted, however often it happens.
    """
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


def build_interruption_outcome(claim: Claim, error: BaseException) -> AttemptOutcome:
    """Requeue a row whose own statements were interrupted, and refund the attempt.

    The number is limited, because a row whose statements break connections would otherwise do so
    forever.
    """
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
    """Requeue a row that was lost with its worker, or fail it if it keeps killing workers.

    A worker that dies takes all its rows with it, and at most one of them is to blame. The first
    losses therefore cost no attempt. From ISOLATE_AFTER_RESCUES on, the row is worked alone. A loss
    then cannot be the fault of another row, and counts.
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
    """Format an error for a row, redacted and truncated.

    Our own errors are kept as written; others are prefixed with their class.
    """
    text = redact(str(error)).strip().replace("\x00", "") or type(error).__name__
    if not isinstance(error, ScraperSkyError):
        text = f"{type(error).__name__}: {text}" if text != type(error).__name__ else text
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[: MAX_ERROR_CHARACTERS - 1] + "…"


def summarize_error(error: BaseException) -> str:
    """Return the first line of the error, for health and alerts.

    Viewers of every tenant may read these. Drivers put the statement, its parameters and the
    offending values on the lines below.
    """
    text = format_error(error).splitlines()[0]
    limit = MAX_SUMMARY_CHARACTERS
    return text if len(text) <= limit else text[: limit - 1] + "…"


def format_traceback(error: BaseException) -> str | None:
    if error.__traceback__ is None:
        return None
    text = "".join(traceback.format_exception(error)).replace("\x00", "")
    return redact(text)[-MAX_TRACEBACK_CHARACTERS:]
