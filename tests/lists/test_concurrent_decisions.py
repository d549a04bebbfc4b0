"""Concurrent decisions about the same rows: none is lost, and none deadlocks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.session import Database
from scrapersky.errors import NotFound
from scrapersky.kinds import CURATIONS
from scrapersky.lists import BulkRequest
from scrapersky.lists.curation import CurateOut, curate
from scrapersky.lists.undo import UndoOut
from scrapersky.lists.undo_routes import undo_action
from scrapersky.models import BulkActionRows, Page
from tests.lists.rows import KINDS, SYSTEM, add_rows, decisions
from tests.waiting import lose_a_deadlock, wait_for_lock_waiters

PAGES = KINDS["page"]


async def decide(database: Database, status: str, ids: Sequence[UUID] | None = None) -> CurateOut:
    asked = BulkRequest(ids=None if ids is None else tuple(ids))
    async with database.transaction() as session:
        return await curate(session, SYSTEM, PAGES, status, asked)


async def take_back(database: Database, action_id: UUID | None = None) -> UndoOut | None:
    try:
        async with database.transaction() as session:
            return await undo_action(session, SYSTEM, CURATIONS, action_id)
    except NotFound:
        return None


async def test_who_comes_second_decides_about_what_the_first_left(database: Database) -> None:
    ids = await add_rows(database, "page", 50)
    async with database.transaction() as session:
        first = await curate(session, SYSTEM, PAGES, "Skipped", BulkRequest(ids=tuple(ids[:30])))
        second_task = asyncio.create_task(decide(database, "Selected", ids[20:]))
        await wait_for_lock_waiters(database)
    second = await second_task

    assert (first.updated_count, second.updated_count) == (30, 30)
    words = await decisions(database, "page", ids)
    assert words == ["Skipped"] * 20 + ["Selected"] * 30
    async with database.reading() as session:
        before = select(BulkActionRows.before_status, func.cardinality(BulkActionRows.row_ids))
        kept = before.where(BulkActionRows.action_id == second.action_id)
        assert {tuple(each) for each in await session.execute(kept)} == {
            ("Skipped", 10),
            ("New", 20),
        }
    undone = await take_back(database, first.action_id)
    assert undone is not None
    assert (undone.restored_count, undone.left_alone_count) == (20, 10)
    assert await decisions(database, "page", ids) == ["New"] * 20 + ["Selected"] * 30


async def test_rows_that_no_longer_fit_the_filter_are_not_taken(database: Database) -> None:
    ids = await add_rows(database, "page", 4)
    new = BulkRequest({"page_curation_status": ["New"]})
    async with database.transaction() as session:
        await curate(session, SYSTEM, PAGES, "Skipped", BulkRequest(ids=tuple(ids[:3])))

        async def other() -> CurateOut:
            async with database.transaction() as theirs:
                return await curate(theirs, SYSTEM, PAGES, "Selected", new)

        second_task = asyncio.create_task(other())
        await wait_for_lock_waiters(database)

    assert (await second_task).updated_count == 1
    assert await decisions(database, "page", ids) == ["Skipped"] * 3 + ["Selected"]


async def test_many_who_decide_at_once_leave_each_row_with_one_of_their_words(
    database: Database,
) -> None:
    ids = await add_rows(database, "page", 200)
    words = ["Selected", "Skipped", "New"]

    done = await asyncio.gather(
        *(decide(database, word, part) for word in words for part in (ids, ids[::-1], None))
    )

    left = await decisions(database, "page", ids)
    assert set(left) <= set(words)
    changes = sum(each.updated_count for each in done)
    async with database.reading() as session:
        kept = await session.scalar(select(func.sum(func.cardinality(BulkActionRows.row_ids))))
    assert kept == changes >= 200


async def test_a_deadlock_with_somebody_who_locks_in_another_order_is_tried_again(
    database: Database,
) -> None:
    first, last = await add_rows(database, "page", 2)

    curated = await lose_a_deadlock(
        database,
        lambda: decide(database, "Selected"),
        first=update(Page).where(Page.id == first).values(title="Seen"),
        last=update(Page).where(Page.id == last).values(title="Seen"),
    )

    assert curated.updated_count == 2
    assert await decisions(database, "page", [first, last]) == ["Selected"] * 2


@pytest.mark.parametrize("named", [True, False])
async def test_two_who_undo_at_once_undo_an_action_once(database: Database, named: bool) -> None:
    ids = await add_rows(database, "page", 20)
    done = await decide(database, "Skipped", ids)
    action_id = done.action_id if named else None

    undone = await asyncio.gather(
        *(take_back(database, action_id) for _ in range(2)), return_exceptions=True
    )

    restored = [each.restored_count for each in undone if isinstance(each, UndoOut)]
    assert restored == [20]
    assert await decisions(database, "page", ids) == ["New"] * 20
