"""Whether an error means that the database is away, and not that it was asked for the wrong thing.

Errors come wrapped by SQLAlchemy, as its driver translates them, or from the driver itself; all of
them carry what the server said.
"""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

AWAY = ("08", "53", "57P")
"""Connections lost, resources used up, a server that starts or stops."""


def sqlstate_of(error: BaseException) -> str:
    """What the server called it; empty for what it did not say."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


def is_away(error: BaseException) -> bool:
    """The server is away or going away: the same statement may succeed in a moment."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return sqlstate_of(error).startswith(AWAY)
