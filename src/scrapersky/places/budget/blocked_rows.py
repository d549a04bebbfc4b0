"""Re-check rows that are blocked on a used-up budget after it was raised."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    JOB_STATUSES,
    Budget,
    InstallationBudget,
    Job,
    JobType,
    Place,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE, SEARCH_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED
from scrapersky.settings import Settings

BUDGET_CHANGE_WINDOW = timedelta(minutes=10)
"""Longer than a row that the old cap refused takes to return to the queue."""


def _match_places(tenant_id: UUID | None) -> list[ColumnElement[bool]]:
    """Match the blocked places of one tenant, or of all when None."""
    return [
        *([] if tenant_id is None else [Place.tenant_id == tenant_id]),
        Place.deep_scan_status == DEEP_SCAN_STATUSES.queued,
        Place.deep_scan_error.startswith(BUDGET_EXHAUSTED, autoescape=True),
    ]


def _match_searches(tenant_id: UUID | None) -> list[ColumnElement[bool]]:
    return [
        *([] if tenant_id is None else [Job.tenant_id == tenant_id]),
        Job.job_type == JobType.PLACE_SEARCH,
        Job.status == JOB_STATUSES.queued,
        Job.error.startswith(BUDGET_EXHAUSTED, autoescape=True),
    ]


async def count_blocked_rows(session: AsyncSession, tenant_id: UUID | None) -> int:
    places = select(func.count()).select_from(Place).where(*_match_places(tenant_id))
    searches = select(func.count()).select_from(Job).where(*_match_searches(tenant_id))
    both = places.scalar_subquery() + searches.scalar_subquery()
    return await session.scalar(select(both)) or 0


async def wake_blocked_rows(session: AsyncSession, tenant_id: UUID | None) -> int:
    """Make blocked rows due now. A row in progress may already have been refused by the old cap;
    the chore finds it once it is back in the queue.
    """
    woken = 0
    for model, due, where in (
        (Place, "deep_scan_due_at", _match_places(tenant_id)),
        (Job, "due_at", _match_searches(tenant_id)),
    ):
        waiting = select(model.id).where(*where).with_for_update(skip_locked=True, key_share=True)
        those = waiting.cte("those").prefix_with("MATERIALIZED")
        rows = await session.scalars(
            update(model)
            .where(model.id == those.c.id)
            .values({due: func.now()})
            .returning(model.id)
            .execution_options(synchronize_session=False)
        )
        woken += len(rows.all())
    wake_after_commit(session, SEARCH_STAGE, DEEP_SCAN_STAGE)
    return woken


async def wake_after_budget_change(database: Database, _settings: Settings) -> int:
    """Wake rows that the old cap refused while the budget was being changed."""
    async with database.transaction() as session:
        lately = func.now() - BUDGET_CHANGE_WINDOW
        installation = InstallationBudget.changed_at > lately
        if await session.scalar(select(InstallationBudget.id).where(installation)):
            return await wake_blocked_rows(session, None)
        changed = await session.scalars(select(Budget.tenant_id).where(Budget.changed_at > lately))
        return sum([await wake_blocked_rows(session, each) for each in changed])


CHORE = Chore(
    name="wake_what_waited_for_a_budget",
    does="Requeue rows that were blocked by a budget that has been changed since.",
    every=timedelta(seconds=20),
    run=wake_after_budget_change,
)
