"""What became of a row's work, and the rule that turns a failure into a retry or an end."""

from __future__ import annotations

import random
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scrapersky.errors import Rejected, RetryLater, ScraperSkyError, Skipped
from scrapersky.pipeline.claims import Change, Claim
from scrapersky.pipeline.queue import Words
from scrapersky.pipeline.tables import EventKind
from scrapersky.redaction import redact
from scrapersky.settings import Settings

MAX_ERROR_CHARACTERS = 1024
MAX_TRACEBACK_CHARACTERS = 64 * 1024
JITTER = 0.1
NOTHING: Any = object()
"""No result, told apart from a result that is None."""


class LostClaim(ScraperSkyError):
    """Somebody else has the row now, or it was cancelled; what we did for it is not stored."""


class WorkTimedOut(ScraperSkyError):
    """The stage's timeout fired."""


class WorkerDied(ScraperSkyError):
    """The process that had claimed the row is gone, or its lease ran out."""


@dataclass(frozen=True)
class Outcome:
    """The end of one attempt at one row."""

    claim: Claim
    kind: EventKind
    result: Any = NOTHING
    error: str | None = None
    error_class: str = ""
    traceback: str | None = None
    delay: timedelta | None = None
    refund: int = 0

    def change(self, words: Words) -> Change:
        status = {
            EventKind.COMPLETED: words.done,
            EventKind.SKIPPED: words.skipped or words.done,
            EventKind.FAILED: words.failed,
        }.get(self.kind, words.queued)
        return Change(
            row_id=self.claim.row_id,
            token=self.claim.token,
            status=status,
            delay=self.delay,
            refund=self.refund,
            error=self.error,
        )


@dataclass(frozen=True)
class RetryRule:
    """How often, and how long to wait in between."""

    max_attempts: int
    base: timedelta
    cap: timedelta

    @classmethod
    def of(cls, settings: Settings, max_attempts: int) -> RetryRule:
        return cls(
            max_attempts=max_attempts,
            base=timedelta(seconds=settings.retry_base_seconds),
            cap=timedelta(seconds=settings.retry_cap_seconds),
        )

    def back_off(self, attempts: int) -> timedelta:
        """Twice as long after each attempt, up to the cap, give or take a tenth."""
        doubled: timedelta = self.base * 2.0 ** min(max(attempts - 1, 0), 20)
        return min(self.cap, doubled) * random.uniform(1 - JITTER, 1 + JITTER)


def completed(claim: Claim, result: Any = NOTHING) -> Outcome:
    return Outcome(claim, EventKind.COMPLETED, result=result)


def handed_back(claim: Claim) -> Outcome:
    """Due again at once, as if it had never been claimed."""
    return Outcome(claim, EventKind.HANDED_BACK, delay=timedelta(0), refund=1)


def outcome_of_error(claim: Claim, error: BaseException, rule: RetryRule) -> Outcome:
    """What an exception means for the row: the stage's verdict, or a failure like any other."""
    if isinstance(error, Skipped):
        return Outcome(claim, EventKind.SKIPPED, error=sentence(error))
    if isinstance(error, RetryLater):
        return Outcome(claim, EventKind.SNOOZED, error=sentence(error), delay=error.after, refund=1)
    final = isinstance(error, Rejected) or claim.attempts >= rule.max_attempts
    return Outcome(
        claim,
        EventKind.FAILED if final else EventKind.RETRIED,
        error=sentence(error),
        error_class=type(error).__name__,
        traceback=full_traceback(error),
        delay=None if final else rule.back_off(claim.attempts),
    )


def outcome_of_rescue(claim: Claim, error: WorkerDied, rule: RetryRule) -> Outcome:
    """The first time a row is lost it is due again at once; a row that keeps killing its workers
    waits longer each time and then ends like any other failure."""
    if claim.attempts >= rule.max_attempts:
        return outcome_of_error(claim, error, rule)
    again = claim.attempts - 1
    return Outcome(
        claim,
        EventKind.RESCUED,
        error=sentence(error),
        error_class=type(error).__name__,
        delay=rule.back_off(again) if again else timedelta(0),
    )


def sentence(error: BaseException) -> str:
    """The error as one text for a row: ours as written, others with their class; never long."""
    text = redact(str(error)).strip().replace("\x00", "") or type(error).__name__
    if not isinstance(error, ScraperSkyError):
        text = f"{type(error).__name__}: {text}" if text != type(error).__name__ else text
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[: MAX_ERROR_CHARACTERS - 1] + "…"


def full_traceback(error: BaseException) -> str | None:
    if error.__traceback__ is None:
        return None
    text = "".join(traceback.format_exception(error)).replace("\x00", "")
    return redact(text)[-MAX_TRACEBACK_CHARACTERS:]
