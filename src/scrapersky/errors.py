"""Exceptions, named for their consequence; each message says what happened and what to do."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from scrapersky.redaction import redact


class ScraperSkyError(Exception):
    """Base class of all errors raised on purpose. The message may be shown to people as it is."""

    def __str__(self) -> str:
        return redact(super().__str__())


# Outcomes that a stage may raise for a row. Any other exception counts as a transient failure.


class StageVerdict(ScraperSkyError):
    """An outcome for a row, raised by its stage's read, work or store."""


class Skipped(StageVerdict):
    """There is nothing to do: the row is done, and the message says why."""


class Rejected(StageVerdict):
    """A retry would not help: the row fails immediately, with a dead letter."""


class RetryLater(StageVerdict):
    """The row is retried after `after`, and the attempt does not count."""

    def __init__(self, reason: str, *, after: timedelta) -> None:
        super().__init__(reason)
        self.after = after


# Failures of this installation, which neither a host nor a row is to blame for.


class LimitedResource(StrEnum):
    """A resource that this installation can run out of."""

    DESCRIPTORS = "file_descriptors"
    CONNECTIONS = "database_connections"
    DISK = "disk_space"
    PROCESSES = "processes"


class ResourceExhausted(ScraperSkyError):
    """This process, its machine or its database has run out of a resource.

    The row is released and its attempt does not count. Nothing is counted against the host.
    """

    def __init__(self, limit: LimitedResource, sentence: str) -> None:
        super().__init__(sentence)
        self.limit = limit


# Errors of requests.


class InvalidInput(ScraperSkyError):
    """The input is invalid. Nothing was stored."""


class NotFound(ScraperSkyError):
    """The object does not exist, or belongs to another tenant."""


class Conflict(ScraperSkyError):
    """The object's current state does not allow the request."""


class NotSignedIn(ScraperSkyError):
    """The credentials are missing or invalid."""


class NotAllowed(ScraperSkyError):
    """The credentials are valid but lack the permission."""


# Errors that prevent the start, and database failures.


class SettingsError(ScraperSkyError):
    """A setting is missing or invalid. The message names the variable."""


class DatabaseRefused(ScraperSkyError):
    """The database cannot be started or used in its current state. The message says what to do."""


class DatabaseReadOnly(DatabaseRefused):
    """The database answers but accepts no writes: it is a standby, or was set to read-only."""

    def __init__(self) -> None:
        super().__init__(
            "The database is currently read-only, so nothing can be changed. Try again later."
        )


class DatabaseUnavailable(ScraperSkyError):
    """The database did not answer, or not in time. The operation is retryable."""


class RowInterrupted(DatabaseUnavailable):
    """The statements of one row lost their connection or timed out.

    The database had just answered on that connection. The cause may be an outage, or the row
    itself.
    """


class SchemaMismatch(DatabaseRefused):
    """The database schema does not match this version of the program."""


class ErasureKeyRefused(DatabaseRefused):
    """The key that erased people are recognised by is missing, unreadable or does not match."""
