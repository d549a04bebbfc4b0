"""A proven claim locks its row against changes, but not against inserts that reference it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.domains import metadata
from scrapersky.models import Domain, Page
from scrapersky.pipeline.claims import get_statements
from tests.contacts.rows import a_page
from tests.stage_cases import OWNED

STAGE, CLAIMS = metadata.STAGE, get_statements(metadata.STAGE)
WAITED_TOO_LONG = "55P03"


@pytest.fixture
async def claimed(database: Database) -> tuple[Domain, UUID]:
    """A domain that somebody works; and the token that proves it."""
    token, queue = uuid4(), STAGE.queue
    domain = Domain(id=uuid7(), domain="bakery.example", **OWNED)
    held: dict[Any, Any] = {
        queue.status: STAGE.words.processing,
        queue.lease_token: token,
        queue.lease_expires_at: func.now() - timedelta(hours=1),
    }
    async with database.transaction() as session:
        session.add(domain)
        await session.flush()
        await session.execute(update(Domain).values(held))
    return domain, token


@asynccontextmanager
async def proven(
    database: Database, claimed: tuple[Domain, UUID]
) -> AsyncIterator[tuple[AsyncSession, Domain]]:
    """Until it commits."""
    domain, token = claimed
    async with database.transaction() as session:
        row = await session.scalar(CLAIMS.prove, {"row_id": domain.id, "token": token})
        assert row is not None
        yield session, row


@asynccontextmanager
async def impatient(database: Database) -> AsyncIterator[AsyncSession]:
    """Fails where it would have to wait for a lock."""
    async with database.transaction() as session:
        await session.execute(text("SET LOCAL lock_timeout = '500ms'"))
        yield session


async def test_a_row_that_refers_to_the_claimed_one_is_inserted_meanwhile(
    database: Database, claimed: tuple[Domain, UUID]
) -> None:
    page = a_page(claimed[0], "/kontakt")
    async with proven(database, claimed) as (session, row):
        row.title = "Bakery"
        await session.flush()
        async with impatient(database) as other:
            other.add(page)

    async with database.reading() as session:
        assert await session.scalar(select(Page.domain_id)) == claimed[0].id
        assert await session.scalar(select(Domain.title)) == "Bakery"


@pytest.mark.parametrize("changing", [update(Domain).values(title="x"), delete(Domain)])
async def test_whoever_changes_the_claimed_row_waits(
    database: Database, claimed: tuple[Domain, UUID], changing: Any
) -> None:
    async with proven(database, claimed):
        with pytest.raises(DBAPIError) as refused:
            async with impatient(database) as other:
                await other.execute(changing)

    assert getattr(refused.value.orig, "sqlstate", None) == WAITED_TOO_LONG


async def test_whoever_looks_for_lost_rows_passes_it_by(
    database: Database, claimed: tuple[Domain, UUID]
) -> None:
    looking = {"dead_after": timedelta(seconds=1), "limit": 10}
    async with proven(database, claimed), impatient(database) as other:
        meanwhile = list(await other.scalars(CLAIMS.lost, looking))
    async with database.transaction() as session:
        afterwards = list(await session.scalars(CLAIMS.lost, looking))

    assert meanwhile == []
    assert [each.id for each in afterwards] == [claimed[0].id]


async def test_two_who_hold_the_same_token_store_one_after_the_other(
    database: Database, claimed: tuple[Domain, UUID]
) -> None:
    proof = {"row_id": claimed[0].id, "token": claimed[1]}
    async with proven(database, claimed):
        with pytest.raises(DBAPIError) as refused:
            async with impatient(database) as other:
                await other.scalar(CLAIMS.prove, proof)

    assert getattr(refused.value.orig, "sqlstate", None) == WAITED_TOO_LONG
