"""Searches run by a real engine against a fake provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, update

from scrapersky.db.session import Database
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    Actor,
    Job,
    Place,
    ProviderPause,
    SearchPlace,
    SearchTile,
)
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import AnyStage
from scrapersky.places.search import execution, service
from scrapersky.places.search.schemas import SearchIn
from scrapersky.settings import Settings
from tests.stage_cases import SYSTEM_USER_ID

ACTOR = Actor(SYSTEM_USER_ID, DEFAULT_TENANT_ID)


async def asked(
    database: Database, settings: Settings, *, actor: Actor = ACTOR, **wanted: Any
) -> UUID:
    """A search for bakeries in Leipzig, unless said otherwise; nobody works it yet."""
    given = {"business_type": "bakeries", "location": "Leipzig", **wanted}
    async with database.transaction() as session:
        job, _, _ = await service.request_search(session, actor, settings, SearchIn(**given))
    return job.id


def at_full_speed(settings: Settings, **more: Any) -> Settings:
    """Without the pause between two requests, which would make up most of a test's time."""
    return settings.model_copy(update={"host_delay_ms": 0, **more})


async def worked(
    database: Database, settings: Settings, *, stage: AnyStage = execution.STAGE
) -> None:
    """Whatever is due, once."""
    async with run_engine(database, at_full_speed(settings), [stage]) as engine:
        await run_job_loop(engine.runner(stage.name))


async def found(
    database: Database, settings: Settings, *, actor: Actor = ACTOR, **wanted: Any
) -> Job:
    """The search once it was worked."""
    search_id = await asked(database, settings, actor=actor, **wanted)
    await worked(database, settings)
    return await job_of(database, search_id)


async def job_of(database: Database, search_id: UUID) -> Job:
    async with database.reading() as session:
        return await session.get_one(Job, search_id)


async def make_due(database: Database) -> None:
    """What it waited for has come."""
    async with database.transaction() as session:
        await session.execute(update(Job).values(due_at=func.now()))
        await session.execute(delete(ProviderPause))


async def places(database: Database) -> dict[str, Place]:
    async with database.reading() as session:
        return {each.place_id: each for each in await session.scalars(select(Place))}


async def links(database: Database, search_id: UUID) -> dict[str, SearchPlace]:
    async with database.reading() as session:
        rows = await session.execute(
            select(Place.place_id, SearchPlace)
            .join(SearchPlace, SearchPlace.place_id == Place.id)
            .where(SearchPlace.search_id == search_id)
        )
        return {row[0]: row[1] for row in rows}


async def tiles(database: Database, search_id: UUID) -> Sequence[SearchTile]:
    async with database.reading() as session:
        rows = await session.scalars(
            select(SearchTile).where(SearchTile.search_id == search_id).order_by(SearchTile.path)
        )
        return rows.all()
