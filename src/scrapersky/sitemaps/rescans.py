"""Queue the domains whose next look is due."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import and_, exists, func, or_, select, update

from scrapersky.db.session import Database
from scrapersky.jobs import service as job_service
from scrapersky.models import Domain, Job, JobType
from scrapersky.models.domains import METADATA_WORDS, NEVER_DUE, SUBMISSION_WORDS
from scrapersky.models.stage_names import SUBMISSION_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

DOMAINS_AT_ONCE = 1_000


async def queue_domains_due(database: Database, settings: Settings) -> int:
    """Never scanned, or the time for the next look has come; what people put aside never is, and
    what they only stored is not until somebody asks for it. One whose home page is still to be
    read is left to that: a parked site has nothing to look for."""
    queue = (SUBMISSION_WORDS.queued, SUBMISSION_WORDS.processing)
    scanning = exists().where(
        Job.domain_id == Domain.id, Job.job_type == JobType.SITEMAP, job_service.is_active()
    )
    was_read = Domain.status.in_((METADATA_WORDS.done, METADATA_WORDS.failed))
    never_scanned = and_(Domain.next_scan_at.is_(None), was_read)
    due = (
        select(Domain.id)
        .where(
            or_(Domain.next_scan_at <= func.now(), never_scanned),
            Domain.sitemap_analysis_status.not_in(queue),
            Domain.sitemap_curation_status.not_in(NEVER_DUE),
            ~scanning,
        )
        .order_by(Domain.next_scan_at.nulls_first())
        .limit(DOMAINS_AT_ONCE)
        .with_for_update(skip_locked=True)
        .cte("due")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        queued = await session.scalars(
            update(Domain)
            .where(Domain.id == due.c.id)
            .values(
                sitemap_analysis_status=SUBMISSION_WORDS.queued,
                sitemap_analysis_due_at=func.now(),
                sitemap_analysis_attempts=0,
                sitemap_analysis_error=None,
            )
            .returning(Domain.id)
            .execution_options(synchronize_session=False)
        )
        count = len(queued.all())
        if count:
            wake_after_commit(session, SUBMISSION_STAGE)
        return count


CHORE = Chore(
    name="queue_domains_due_for_scan",
    does="Queue the domains that were never scanned or whose next look is due.",
    every=timedelta(minutes=1),
    run=queue_domains_due,
)
