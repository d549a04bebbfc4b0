"""Requests that hit an exhausted resource name it instead of blaming the database."""

from __future__ import annotations

import errno

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncSession

from tests.app import serving
from tests.conftest import make_settings

TOO_MANY = asyncpg.TooManyConnectionsError("sorry, too many clients already")
LIMITS = [
    (OSError(errno.EMFILE, "Too many open files"), "file descriptors"),
    (OSError(errno.ENOSPC, "No space left on device"), "The disk of this machine is full"),
    (PoolTimeout("QueuePool limit of size 10"), "Raise DATABASE_POOL_SIZE"),
    (TOO_MANY, "The database accepts no more connections"),
    (DBAPIError("INSERT", None, asyncpg.DiskFullError("no room")), "The database's disk is full"),
]


@pytest.mark.parametrize(("error", "expected"), LIMITS, ids=repr)
async def test_a_request_that_meets_an_own_limit_is_answered_503_with_its_sentence(
    url: str, monkeypatch: pytest.MonkeyPatch, error: Exception, expected: str
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        monkeypatch.setattr(AsyncSession, "scalars", fail)
        monkeypatch.setattr(AsyncSession, "execute", fail)
        answer = await client.get("/api/v3/jobs")
        monkeypatch.undo()

    assert answer.status_code == 503, answer.text
    assert expected in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) > 0
