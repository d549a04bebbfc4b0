"""Housekeeping happens once, however many processes there are."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

from scrapersky.db.session import Database
from scrapersky.pipeline.chores import Chore, take_slot
from scrapersky.settings import Settings


async def nothing(database: Database, settings: Settings) -> None:
    return None


async def test_of_many_processes_one_gets_the_slot(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(days=1), run=nothing)
    got = await asyncio.gather(*(take_slot(database, chore, uuid4()) for _ in range(10)))
    assert sorted(got) == [False] * 9 + [True]


async def test_the_next_slot_is_free_again(database: Database) -> None:
    chore = Chore(name="tidy", does="Tidies.", every=timedelta(milliseconds=50), run=nothing)
    assert await take_slot(database, chore, None)
    await asyncio.sleep(0.06)
    assert await take_slot(database, chore, None)
