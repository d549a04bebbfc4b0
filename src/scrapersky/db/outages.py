"""Classify database errors: outages, retryable conflicts and read-only servers.

Errors come wrapped by SQLAlchemy, translated by its dialect, or directly from the driver. All carry
the server's SQLSTATE.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

import asyncpg
from sqlalchemy import ColumnElement, func
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrapersky.errors import DatabaseUnavailable, RowInterrupted

DriverError = asyncpg.PostgresError
"""Driver errors that SQLAlchemy does not wrap: the server's reply to a refused connection."""
OUTAGE_SQLSTATES = ("08", "53", "57P")
"""Lost connections, exhausted resources, and a server that is starting or stopping."""
TOO_MANY_CONNECTIONS, DISK_FULL = "53300", "53100"
"""SQLSTATEs of exhausted limits of the installation, see `pipeline/vitals.py`."""
READ_ONLY_SQLSTATE = "25006"
"""SQLSTATE of a write on a standby, or with default_transaction_read_only on."""
RETRYABLE_SQLSTATES = (READ_ONLY_SQLSTATE, "40001", "40P01", "55P03", "57014")
"""Read-only after a failover, serialization failure, deadlock, lock timeout, statement timeout."""
STATEMENT_TIMEOUTS = ("55P03", "57014")
"""Lock timeout and statement timeout: the statement failed, the connection is still usable."""
RETRY_SECONDS = 10.0
"""How long a transaction is retried during an outage. A restart or failover takes a few seconds,
and a row whose transaction fails has to start over.
"""
MAX_ROW_INTERRUPTIONS = 3
"""Number of consecutive interruptions after which the transaction is not retried: the row may be
the cause.
"""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.05, 2.0

T = TypeVar("T")


def get_sqlstate(error: BaseException) -> str:
    """Return the server's SQLSTATE, or "" if the error has none."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


def is_read_only(error: BaseException) -> bool:
    """Return whether a statement failed because the database is read-only."""
    return get_sqlstate(error) == READ_ONLY_SQLSTATE


def is_writable() -> ColumnElement[bool]:
    """Return whether this transaction may write.

    The setting also covers a standby, where it is on for all transactions.
    """
    return func.current_setting("transaction_read_only") == "off"


def is_unavailable(error: BaseException) -> bool:
    """Return whether the server is away or shutting down, so that a retry may succeed soon."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return get_sqlstate(error).startswith(OUTAGE_SQLSTATES)


def is_outage(error: BaseException) -> bool:
    """Return whether a database call failed because of an outage rather than the statement.

    That is: the server is away, the pool is exhausted, or the call timed out. Use it only for
    errors of database calls, because an `OSError` from elsewhere means something else.
    """
    if isinstance(error, DatabaseUnavailable | OSError | TimeoutError | PoolTimeout):
        return True
    return is_unavailable(error) or get_sqlstate(error) in RETRYABLE_SQLSTATES


def is_statement_timeout(error: BaseException) -> bool:
    """Return whether the server cancelled a slow statement. The connection is still usable."""
    return get_sqlstate(_unwrap(error)) in STATEMENT_TIMEOUTS


def is_timeout(error: BaseException) -> bool:
    """Return whether a call timed out, by the server's limit or by our own deadline."""
    return isinstance(_unwrap(error), TimeoutError) or is_statement_timeout(error)


def _unwrap(error: BaseException) -> BaseException:
    """Return the driver's error behind a `DatabaseUnavailable`."""
    while isinstance(error, DatabaseUnavailable) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _may_be_caused_by_statement(error: BaseException) -> bool:
    """Return whether the connection was lost, or the call timed out or conflicted with another.

    False for a database that is full, read-only or shutting down cleanly, because it says so.
    """
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return is_timeout(error) or get_sqlstate(error) in RETRYABLE_SQLSTATES[1:]


@contextmanager
def row_interruptions() -> Iterator[None]:
    """Raise failures that the row itself may cause as `RowInterrupted`.

    Only for statements about one row, on a connection that has just answered. Otherwise any outage
    would look like the row's fault.
    """
    try:
        yield
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if not _may_be_caused_by_statement(error):
            raise
        raise RowInterrupted(_describe(error)) from error


async def retry_outages(
    transaction: Callable[[], Awaitable[T]], *, seconds: float = RETRY_SECONDS
) -> T:
    """Run a transaction, and retry it during an outage for up to `seconds`.

    The transaction must be idempotent: when a connection is lost during the commit, its outcome is
    unknown. `RowInterrupted` is raised after three occurrences: an unavailable server refuses
    connections, whereas here each attempt reached the row's statements.
    """
    give_up_at = monotonic() + seconds
    pause = FIRST_RETRY_SECONDS
    interruptions = 0
    while True:
        try:
            return await transaction()
        except Exception as error:
            if not is_outage(error):
                raise
            if isinstance(error, RowInterrupted):
                # Bounded by count, not by time: a single statement timeout may exceed the whole
                # time limit.
                interruptions += 1
                if interruptions >= MAX_ROW_INTERRUPTIONS:
                    raise
            elif monotonic() >= give_up_at:
                raise
            # Inside the handler, so that a cancellation during the sleep has the outage as its
            # context.
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, LAST_RETRY_SECONDS)


def find_outage(error: BaseException | None) -> DatabaseUnavailable | None:
    """Return the outage that was being waited out when the work was cancelled."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, DatabaseUnavailable):
            return error
        seen.add(id(error))
        error = error.__context__
    return None


@contextmanager
def translate_outages() -> Iterator[None]:
    """Raise outages as `DatabaseUnavailable`.

    Both outages and host failures are an `OSError` or a `TimeoutError`. The translation keeps an
    outage from being blamed on a host or on the current row.
    """
    try:
        yield
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if not is_outage(error):
            raise
        raise DatabaseUnavailable(_describe(error)) from error


def _describe(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    reason = str(cause).strip().rstrip(".") or type(cause).__name__
    return f"The database did not answer: {reason}."
