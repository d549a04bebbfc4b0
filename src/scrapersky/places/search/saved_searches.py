"""Saved searches: repeat a place search every N days."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Interval, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.errors import NotFound
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, Job, JobType, SavedSearch, record
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

SEARCH_BATCH_SIZE = 100


async def save_search(
    session: AsyncSession, actor: Actor, job: Job, every_days: int
) -> SavedSearch:
    """Repeat the job's search every `days` days. A search that is already saved gets the new
    interval.
    """
    statement = insert(SavedSearch).values(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        subject=job.subject,
        params=job.params,
        repeat_days=every_days,
        next_run_at=func.now() + literal(timedelta(days=every_days), Interval),
        last_search_id=job.id,
    )
    kept = ("repeat_days", "next_run_at", "params", "last_search_id")
    saved = await session.scalars(
        statement.on_conflict_do_update(
            index_elements=[SavedSearch.tenant_id, SavedSearch.subject],
            set_={
                **{name: statement.excluded[name] for name in kept},
                "is_active": True,
                "updated_at": func.now(),
            },
        ).returning(SavedSearch),
        execution_options={"populate_existing": True},
    )
    record(session, actor, "place_search.repeat", job.id, every_days=every_days)
    return saved.one()


async def deactivate_search(session: AsyncSession, actor: Actor, job: Job) -> SavedSearch:
    """Stop repeating the search. Its results are kept."""
    saved = await session.scalar(
        select(SavedSearch)
        .where(
            SavedSearch.tenant_id == actor.tenant_id,
            SavedSearch.subject == job.subject,
            SavedSearch.is_active,
        )
        .with_for_update()
    )
    if saved is None:
        raise NotFound(f"Search {job.id} is not repeated.")
    saved.is_active = False
    record(session, actor, "place_search.repeat_no_more", job.id)
    await session.flush()
    await session.refresh(saved)
    return saved


async def start_due_searches(database: Database, settings: Settings) -> int:
    """Start the saved searches that are due. A search that is still active is not started twice."""
    async with database.transaction() as session:
        due = await session.scalars(
            select(SavedSearch)
            .where(SavedSearch.is_active, SavedSearch.next_run_at <= func.now())
            .order_by(SavedSearch.next_run_at)
            .limit(SEARCH_BATCH_SIZE)
            .with_for_update(skip_locked=True)
        )
        return sum([await _start_search(session, each) for each in due.all()])


async def _start_search(session: AsyncSession, saved: SavedSearch) -> bool:
    actor = Actor(saved.created_by, saved.tenant_id)
    job, created = await job_service.create(session, actor, _build_job(saved))
    await session.execute(
        update(SavedSearch)
        .where(SavedSearch.id == saved.id)
        .values(
            last_search_id=job.id,
            next_run_at=func.now() + literal(timedelta(days=saved.repeat_days), Interval),
        )
    )
    return created


def _build_job(saved: SavedSearch) -> job_service.NewJob:
    return job_service.NewJob(
        job_type=JobType.PLACE_SEARCH,
        stage=SEARCH_STAGE,
        subject=saved.subject,
        params=saved.params,
        priority=job_service.SCHEDULER_PRIORITY,
    )


CHORE = Chore(
    name="start_due_place_searches",
    does="Start saved place searches that are due.",
    every=timedelta(minutes=5),
    run=start_due_searches,
)
