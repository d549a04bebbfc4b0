"""How it begins: a search at the town's provider, whose places become businesses and domains."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.accounts.service import system_actor
from scrapersky.db.session import Database
from scrapersky.demo.register import LOOKED_FOR, TOWN
from scrapersky.demo.watching import LONGEST_SECONDS, LOOK_EVERY_SECONDS
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    EXTRACTION_WORDS,
    JOB_WORDS,
    Domain,
    Job,
    LocalBusiness,
    Place,
)
from scrapersky.places.search_schemas import SearchIn
from scrapersky.places.search_service import request_search
from scrapersky.settings import Settings


@dataclass(frozen=True)
class Begun:
    """What the search came to, and what became of the places it found."""

    status: str
    result: dict[str, Any]
    error: str | None
    places: int
    businesses: int
    domains: int
    waiting: int
    """Places and businesses that are still on their way."""

    @property
    def has_ended(self) -> bool:
        return self.status not in (JOB_WORDS.queued, JOB_WORDS.processing) and not self.waiting


async def begin(database: Database, settings: Settings) -> UUID:
    """As anybody asks for a search; all the rest is the stages' work."""
    wanted = SearchIn(business_type=LOOKED_FOR, location=TOWN)
    async with database.transaction() as session:
        actor = await system_actor(session, settings)
        job, _, _ = await request_search(session, actor, settings, wanted)
        return job.id


async def until_begun(database: Database, search_id: UUID) -> Begun:
    """Until every place that was found is a business, and every website a domain; or for as long
    as anybody would wait."""
    give_up_at = monotonic() + LONGEST_SECONDS
    while True:
        begun = await look(database, search_id)
        if begun.has_ended or monotonic() > give_up_at:
            return begun
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def look(database: Database, search_id: UUID) -> Begun:
    async with database.reading() as session:
        job = await session.get_one(Job, search_id)
        counts = await session.execute(
            select(
                select(func.count(Place.id)).scalar_subquery(),
                select(func.count(LocalBusiness.id)).scalar_subquery(),
                select(func.count(Domain.id)).scalar_subquery(),
                _waiting(Place.deep_scan_status, DEEP_SCAN_WORDS)
                + _waiting(LocalBusiness.domain_extraction_status, EXTRACTION_WORDS),
            )
        )
        return Begun(job.status, job.result_data or {}, job.error, *counts.one())


def _waiting(status: Any, words: Any) -> Any:
    on_its_way = status.in_((words.queued, words.processing))
    return select(func.count()).where(on_its_way).scalar_subquery()
