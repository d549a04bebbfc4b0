"""Look for what is wrong, remember since when, and say it when it begins and when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Integer, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.models import JOB_WORDS, Job, JobType
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.operations.alert_rules import Facts, Finding, judge
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.report import Standing, full_standing
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import Alert, AlertPost, Host
from scrapersky.settings import Settings

LOOK_EVERY = timedelta(seconds=30)
WINDOW = timedelta(hours=1)
RECENT = 50

log = get_logger(__name__)


@dataclass(frozen=True)
class Firing:
    """An alert right now; `since` is nothing when it was not noted yet."""

    rule: str
    subject: str
    sentence: str
    since: datetime | None = None
    id: UUID | None = None


async def facts_now(session: AsyncSession, standing: Standing) -> Facts:
    ended, found = await _scans(session)
    return Facts(
        settings=standing.settings,
        now=standing.now,
        reports=standing.reports,
        troubles=standing.troubles,
        failing_chores=len(standing.chore_failures),
        unhandled_rows=sum(each.rows for each in standing.unhandled),
        workers=standing.workers,
        scans_ended=ended,
        scans_that_found=found,
        open_circuits=await count_open_circuits(session),
    )


async def _scans(session: AsyncSession) -> tuple[int, int]:
    """Scans that ended in the last hour, and those of them that found a sitemap."""
    assert Job.result_data is not None
    sitemaps = Job.result_data[SITEMAPS_COUNT].astext.cast(Integer)
    found = await session.execute(
        select(func.count(), func.count().filter(sitemaps > 0)).where(
            Job.finished_at > func.now() - WINDOW,
            Job.job_type == JobType.SITEMAP,
            Job.status.in_([JOB_WORDS.done, JOB_WORDS.failed]),
        )
    )
    ended, useful = found.one()
    return int(ended), int(useful)


async def count_open_circuits(session: AsyncSession) -> int:
    counted = select(func.count()).select_from(Host)
    return int(await session.scalar(counted.where(Host.circuit_open_until > func.now())) or 0)


async def firing_now(session: AsyncSession, standing: Standing) -> list[Firing]:
    """Judged afresh, so that it is true also when no process is left that would note it."""
    findings = judge(await facts_now(session, standing))
    noted = {(each.rule, each.subject): each for each in await _noted(session)}
    return [
        Firing(**asdict(each), since=row.began_at if row else None, id=row.id if row else None)
        for each in findings
        for row in [noted.get((each.rule, each.subject))]
    ]


async def recent(session: AsyncSession, limit: int = RECENT) -> Sequence[Alert]:
    """Those that are over, the last to begin first."""
    found = await session.scalars(
        select(Alert)
        .where(Alert.cleared_at.is_not(None))
        .order_by(Alert.began_at.desc(), Alert.id.desc())
        .limit(limit)
    )
    return found.all()


async def _noted(session: AsyncSession) -> Sequence[Alert]:
    found = await session.scalars(select(Alert).where(Alert.cleared_at.is_(None)))
    return found.all()


async def look(database: Database, settings: Settings, stages: Sequence[AnyStage]) -> None:
    """Judge, note what began and what is over, and say so after it is noted."""
    async with database.reading() as session:
        standing = await full_standing(session, stages, settings)
        findings = judge(await facts_now(session, standing))
    async with database.transaction() as session:
        began = await _note_begun(session, findings)
        cleared = await _note_cleared(session, findings)
        if settings.alert_webhook_url:
            await _ask_to_post(session, began, cleared)
    for each in began:
        log.error("alert", **_fields(each))
    for each in cleared:
        log.warning("alert over", **_fields(each), began_at=each.began_at.isoformat())


async def _note_begun(session: AsyncSession, findings: Sequence[Finding]) -> Sequence[Alert]:
    """Of several processes that find the same at once, one notes it."""
    if not findings:
        return ()
    begun = await session.scalars(
        postgresql.insert(Alert)
        .values([{"id": uuid7(), **asdict(each)} for each in findings])
        .on_conflict_do_nothing(
            index_elements=[Alert.rule, Alert.subject], index_where=Alert.cleared_at.is_(None)
        )
        .returning(Alert)
    )
    return begun.all()


async def _note_cleared(session: AsyncSession, findings: Sequence[Finding]) -> Sequence[Alert]:
    still = [(each.rule, each.subject) for each in findings]
    cleared = await session.scalars(
        update(Alert)
        .where(Alert.cleared_at.is_(None), tuple_(Alert.rule, Alert.subject).not_in(still))
        .values(cleared_at=func.now())
        .returning(Alert)
        .execution_options(synchronize_session=False)
    )
    return cleared.all()


async def _ask_to_post(
    session: AsyncSession, began: Sequence[Alert], cleared: Sequence[Alert]
) -> None:
    """In the transaction that notes the alert: none is noted and not posted."""
    posts = [
        {"id": uuid7(), "alert_id": each.id, "event": event}
        for event, alerts in (("began", began), ("cleared", cleared))
        for each in alerts
    ]
    if posts:
        await session.execute(insert(AlertPost), posts)


def _fields(alert: Alert) -> dict[str, str]:
    about = {"subject": alert.subject} if alert.subject else {}
    return {"rule": alert.rule, **about, "sentence": alert.sentence, "alert_id": str(alert.id)}


def looking_after(stages: Sequence[AnyStage]) -> Chore:
    async def run(database: Database, settings: Settings) -> None:
        await look(database, settings, stages)

    return Chore(
        name="look_for_alerts",
        does="Look for what is wrong, and say so once.",
        every=LOOK_EVERY,
        run=run,
    )
