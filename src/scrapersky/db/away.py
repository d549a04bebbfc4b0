"""Whether an error means that the database is away, and not that it was asked for the wrong thing.

Errors come wrapped by SQLAlchemy, as its driver translates them, or from the driver itself; all of
them carry what the server said.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, func
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrapersky.errors import DatabaseUnavailable

AWAY = ("08", "53", "57P")
"""Connections lost, resources used up, a server that starts or stops."""
TOO_MANY_CONNECTIONS, DISK_FULL = "53300", "53100"
"""SQLSTATE of limits of the installation, see `pipeline/own_limits.py`."""
READ_ONLY = "25006"
"""SQLSTATE of a write on a standby, or where default_transaction_read_only is on."""
RETRYABLE_SQLSTATES = (READ_ONLY, "40001", "40P01", "55P03", "57014")
"""Read-only after a failover, serialization failure, deadlock, lock timeout, statement timeout."""


def sqlstate_of(error: BaseException) -> str:
    """What the server called it; empty for what it did not say."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


def is_read_only(error: BaseException) -> bool:
    """Whether a statement failed because the database stores nothing at the moment."""
    return sqlstate_of(error) == READ_ONLY


def is_writable() -> ColumnElement[bool]:
    """Whether this transaction may store something; the setting is on for all transactions of a
    standby, too."""
    return func.current_setting("transaction_read_only") == "off"


def is_away(error: BaseException) -> bool:
    """The server is away or going away: the same statement may succeed in a moment."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return sqlstate_of(error).startswith(AWAY)


def is_outage(error: BaseException) -> bool:
    """Whether a database call failed through no fault of what was asked: the server is away, the
    pool is full, or the call took too long. Only for errors of database calls: an `OSError` of
    anything else means something else."""
    if isinstance(error, DatabaseUnavailable | OSError | TimeoutError | PoolTimeout):
        return True
    return is_away(error) or sqlstate_of(error) in RETRYABLE_SQLSTATES


@contextmanager
def outages_as_unavailable() -> Iterator[None]:
    """Raise outages as `DatabaseUnavailable`, so that nobody takes them for trouble with a host
    (both are an `OSError` or a `TimeoutError`) or with the row that is being worked."""
    try:
        yield
    except DatabaseUnavailable:
        raise
    except Exception as error:
        if not is_outage(error):
            raise
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        reason = str(cause).strip().rstrip(".") or type(cause).__name__
        raise DatabaseUnavailable(f"The database did not answer: {reason}.") from error
