"""Classify database errors: outages, retryable conflicts and read-only servers.

Errors come wrapped by SQLAlchemy, as its driver translates them, or from the driver itself; all of
them carry what the server said.
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
"""What SQLAlchemy does not wrap: the server's answer to a connection that it refuses."""
OUTAGE_SQLSTATES = ("08", "53", "57P")
"""Connections lost, resources used up, a server that starts or stops."""
TOO_MANY_CONNECTIONS, DISK_FULL = "53300", "53100"
"""SQLSTATE of limits of the installation, see `pipeline/vitals.py`."""
READ_ONLY_SQLSTATE = "25006"
"""SQLSTATE of a write on a standby, or where default_transaction_read_only is on."""
RETRYABLE_SQLSTATES = (READ_ONLY_SQLSTATE, "40001", "40P01", "55P03", "57014")
"""Read-only after a failover, serialization failure, deadlock, lock timeout, statement timeout."""
STATEMENT_TIMEOUTS = ("55P03", "57014")
"""Lock timeout and statement timeout: the statement failed, the connection is still usable."""
RETRY_SECONDS = 10.0
"""How long a transaction is repeated while the database is away: a restart or a failover takes a
few seconds, and a row that is given up has to begin again."""
MAX_ROW_INTERRUPTIONS = 3
"""So many in a row, and the transaction is not repeated: the row may be what interrupts it."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.05, 2.0

T = TypeVar("T")


def get_sqlstate(error: BaseException) -> str:
    """What the server called it; empty for what it did not say."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


def is_read_only(error: BaseException) -> bool:
    """Whether a statement failed because the database stores nothing at the moment."""
    return get_sqlstate(error) == READ_ONLY_SQLSTATE


def is_writable() -> ColumnElement[bool]:
    """Whether this transaction may store something; the setting is on for all transactions of a
    standby, too."""
    return func.current_setting("transaction_read_only") == "off"


def is_unavailable(error: BaseException) -> bool:
    """The server is away or going away: the same statement may succeed in a moment."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return get_sqlstate(error).startswith(OUTAGE_SQLSTATES)


def is_outage(error: BaseException) -> bool:
    """Whether a database call failed through no fault of what was asked: the server is away, the
    pool is full, or the call took too long. Only for errors of database calls: an `OSError` of
    anything else means something else."""
    if isinstance(error, DatabaseUnavailable | OSError | TimeoutError | PoolTimeout):
        return True
    return is_unavailable(error) or get_sqlstate(error) in RETRYABLE_SQLSTATES


def is_statement_timeout(error: BaseException) -> bool:
    """Whether the server ended a statement that took too long; the connection survived it."""
    return get_sqlstate(_unwrap(error)) in STATEMENT_TIMEOUTS


def is_timeout(error: BaseException) -> bool:
    """Whether a call took too long: by the server's limit, or by a deadline of ours."""
    return isinstance(_unwrap(error), TimeoutError) or is_statement_timeout(error)


def _unwrap(error: BaseException) -> BaseException:
    """Return the driver's error behind a `DatabaseUnavailable`."""
    while isinstance(error, DatabaseUnavailable) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _may_be_caused_by_statement(error: BaseException) -> bool:
    """Whether the connection was lost, the call timed out or was in conflict with another. Not so
    for a database that is full, read-only or shutting down in order: it says so."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return is_timeout(error) or get_sqlstate(error) in RETRYABLE_SQLSTATES[1:]


@contextmanager
def row_interruptions() -> Iterator[None]:
    """Raise what may be the row's own doing as `RowInterrupted`. For statements about one row, on a
    connection that has just answered; otherwise any outage would look like it."""
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
    """Run a transaction, and again while the database is away, for up to `seconds`.

    The transaction must be safe to repeat: when a connection is lost during the commit, nobody
    knows whether it happened. `RowInterrupted` is raised once it came three times: a server that
    is away refuses connections, whereas here each attempt reached the row's statements.
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
                # Not bounded by time: a single statement timeout may take longer than all of it.
                interruptions += 1
                if interruptions >= MAX_ROW_INTERRUPTIONS:
                    raise
            elif monotonic() >= give_up_at:
                raise
            # Within the handler, so that a cancellation that comes here has the outage as context.
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
    """Raise outages as `DatabaseUnavailable`, so that nobody takes them for trouble with a host
    (both are an `OSError` or a `TimeoutError`) or with the row that is being worked."""
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
