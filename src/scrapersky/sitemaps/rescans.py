"""Adaptive rescan interval, and the chore that queues domains due for a scan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import and_, exists, func, or_, select, update

from scrapersky.db.session import Database
from scrapersky.jobs import service as job_service
from scrapersky.models import Domain, Job, JobType
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES, UNSCHEDULED_CURATIONS
from scrapersky.models.stage_names import SUBMISSION_STAGE
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.settings import Settings

CHANGED_FACTOR, UNCHANGED_FACTOR = 0.35, 1.35
"""A change cuts the wait to a third, an unchanged scan adds a third. Among the pairs simulated over
ninety days (`python -m benchmarks.rescans`) it stays fresh with few scans.
"""
MAX_FAILURE_INTERVAL = timedelta(days=30)


@dataclass(frozen=True)
class ScanChanges:
    """Differences from the previous scan."""

    added: int = 0
    changed: int = 0
    gone: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.gone)

    def __str__(self) -> str:
        return f"{self.added:,} new, {self.changed:,} changed, {self.gone:,} gone"

    def plus(self, other: ScanChanges) -> ScanChanges:
        return ScanChanges(
            self.added + other.added, self.changed + other.changed, self.gone + other.gone
        )


@dataclass(frozen=True)
class RescanPolicy:
    """Scan intervals from the settings."""

    first: timedelta
    shortest: timedelta
    longest: timedelta

    @classmethod
    def of(cls, settings: Settings) -> RescanPolicy:
        return cls(
            first=settings.rescan_interval,
            shortest=timedelta(hours=settings.sitemap_rescan_min_hours),
            longest=timedelta(hours=settings.sitemap_rescan_max_hours),
        )

    def get_first_interval(self) -> tuple[timedelta, str]:
        return self.first, f"Next scan in {format_interval(self.first)}, as after every first scan."

    def get_next_interval(self, previous: timedelta, changes: ScanChanges) -> tuple[timedelta, str]:
        """Return the next interval and the reason."""
        wait = min(
            max(previous * (CHANGED_FACTOR if changes else UNCHANGED_FACTOR), self.shortest),
            self.longest,
        )
        reason = f"the last scan found changes ({changes})" if changes else "nothing had changed"
        return wait, f"Next scan in {format_interval(wait)} because {reason}."


def get_failure_interval(previous: timedelta, failures: int) -> tuple[timedelta, str]:
    """Return the wait after a failure. It doubles with each failure in a row, up to a month."""
    wait = min(previous * 2.0 ** min(failures, 20), MAX_FAILURE_INTERVAL)
    times = "once" if failures == 1 else f"{failures} times in a row"
    return wait, f"Next scan in {format_interval(wait)} because the scan failed {times}."


def format_interval(wait: timedelta) -> str:
    hours = wait / timedelta(hours=1)
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.1f} days".replace(".0 ", " ")


DOMAIN_BATCH_SIZE = 1_000


async def queue_due_domains(database: Database, settings: Settings) -> int:
    """Queue domains that were never scanned or are due.

    Domains that are curated out or were stored without being queued are skipped. So are domains
    whose home page is still to be read, because a parked site has no sitemaps.
    """
    queue = (SUBMISSION_STATUSES.queued, SUBMISSION_STATUSES.processing)
    scanning = exists().where(
        Job.domain_id == Domain.id, Job.job_type == JobType.SITEMAP, job_service.is_active()
    )
    was_read = Domain.status.in_((METADATA_STATUSES.done, METADATA_STATUSES.failed))
    never_scanned = and_(Domain.next_scan_at.is_(None), was_read)
    due = (
        select(Domain.id)
        .where(
            or_(Domain.next_scan_at <= func.now(), never_scanned),
            Domain.sitemap_analysis_status.not_in(queue),
            Domain.sitemap_curation_status.not_in(UNSCHEDULED_CURATIONS),
            ~scanning,
        )
        .order_by(Domain.next_scan_at.nulls_first())
        .limit(DOMAIN_BATCH_SIZE)
        .with_for_update(skip_locked=True)
        .cte("due")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        queued = await session.scalars(
            update(Domain)
            .where(Domain.id == due.c.id)
            .values(
                sitemap_analysis_status=SUBMISSION_STATUSES.queued,
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
    does="Queue domains that were never scanned or are due for a rescan.",
    every=timedelta(minutes=1),
    run=queue_due_domains,
)
