"""Exceptions, named for their consequence; each message says what happened and what to do."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from scrapersky.redaction import redact


class ScraperSkyError(Exception):
    """Everything we raise on purpose; its text may be shown to people as it is."""

    def __str__(self) -> str:
        return redact(super().__str__())


# What a stage may decide about a row. Anything else that is raised counts as a passing failure.


class StageVerdict(ScraperSkyError):
    """A decision about a row, raised by its stage's read, work or store."""


class Skipped(StageVerdict):
    """There is nothing to do: the row is done, and the sentence says why."""


class Rejected(StageVerdict):
    """Trying again would not help: the row fails at once, with a dead letter."""


class RetryLater(StageVerdict):
    """Not now: the row waits for `after`, and the attempt does not count."""

    def __init__(self, reason: str, *, after: timedelta) -> None:
        super().__init__(reason)
        self.after = after


# What is our own fault: no host and no row is to blame.


class LimitedResource(StrEnum):
    """What this installation can run out of."""

    DESCRIPTORS = "file_descriptors"
    CONNECTIONS = "database_connections"
    DISK = "disk_space"
    PROCESSES = "processes"


class ResourceExhausted(ScraperSkyError):
    """This process, its machine or its database has run out of something. The row is handed back
    with its attempt, and nothing is counted against the host."""

    def __init__(self, limit: LimitedResource, sentence: str) -> None:
        super().__init__(sentence)
        self.limit = limit


# What a person asked for and cannot have.


class InvalidInput(ScraperSkyError):
    """What was given does not fit; nothing was stored."""


class NotFound(ScraperSkyError):
    """There is no such thing, or it belongs to someone else."""


class Conflict(ScraperSkyError):
    """The state it is in does not allow that now."""


class NotSignedIn(ScraperSkyError):
    """No credentials, or credentials that are not valid."""


class NotAllowed(ScraperSkyError):
    """The credentials are valid but do not reach that far."""


# What keeps the program from starting.


class SettingsError(ScraperSkyError):
    """A setting is missing or impossible; the sentence names the variable."""


class DatabaseRefused(ScraperSkyError):
    """The database cannot be started or used as it is; the sentence says what to do."""


class DatabaseReadOnly(DatabaseRefused):
    """The database answers but stores nothing: a standby, or it was set to read-only."""

    def __init__(self) -> None:
        super().__init__(
            "The database is read-only at the moment, so nothing can be changed. Try again later."
        )


class DatabaseUnavailable(ScraperSkyError):
    """The database did not answer, or not in time: nobody's fault but its own, and retryable."""


class RowInterrupted(DatabaseUnavailable):
    """The statements of one row lost their connection or timed out although the database had just
    answered on it: it may be an outage, or the row may be the cause."""


class SchemaMismatch(DatabaseRefused):
    """The database's schema is not the one this program was written for."""


class ErasureKeyRefused(DatabaseRefused):
    """The key by which erased people are recognised is missing, unreadable or another one."""
