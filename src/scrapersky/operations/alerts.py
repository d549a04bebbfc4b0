"""Evaluate the alert rules; store, log and emit as events when alerts begin and clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Integer, func, select, tuple_, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.models import JOB_STATUSES, Job, JobType, WebhookEvent
from scrapersky.models.jobs import SITEMAPS_COUNT
from scrapersky.models.webhook_events import emit_operator_events
from scrapersky.models.webhook_payloads import build_alert_data
from scrapersky.operations.alert_rules import AlertFacts, AlertFinding, evaluate_rules
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.report import PipelineStatus, load_full_status
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import Alert, Host
from scrapersky.settings import Settings
from scrapersky.webhooks.service import deliver_operator_events

CHECK_INTERVAL = timedelta(seconds=30)
SCAN_WINDOW = timedelta(hours=1)
MAX_RECENT_ALERTS = 50

log = get_logger(__name__)


@dataclass(frozen=True)
class FiringAlert:
    """An alert that is firing. `since` is None if it has not been recorded yet."""

    rule: str
    subject: str
    sentence: str
    since: datetime | None = None
    id: UUID | None = None


async def load_facts(session: AsyncSession, standing: PipelineStatus) -> AlertFacts:
    ended, with_sitemap = await _count_scans(session)
    return AlertFacts(
        settings=standing.settings,
        now=standing.now,
        reports=standing.reports,
        troubles=standing.troubles,
        failing_chores=len(standing.chore_failures),
        unhandled_rows=sum(each.rows for each in standing.unhandled),
        workers=standing.workers,
        scans_ended=ended,
        scans_that_found=with_sitemap,
        open_circuits=await count_open_circuits(session),
    )


async def _count_scans(session: AsyncSession) -> tuple[int, int]:
    """Count the scans that ended in the last hour, and how many of them found a sitemap."""
    assert Job.result_data is not None
    sitemaps = Job.result_data[SITEMAPS_COUNT].astext.cast(Integer)
    result = await session.execute(
        select(func.count(), func.count().filter(sitemaps > 0)).where(
            Job.finished_at > func.now() - SCAN_WINDOW,
            Job.job_type == JobType.SITEMAP,
            Job.status.in_([JOB_STATUSES.done, JOB_STATUSES.failed]),
        )
    )
    ended, useful = result.one()
    return int(ended), int(useful)


async def count_open_circuits(session: AsyncSession) -> int:
    counted = select(func.count()).select_from(Host)
    return int(await session.scalar(counted.where(Host.circuit_open_until > func.now())) or 0)


async def list_firing_alerts(session: AsyncSession, standing: PipelineStatus) -> list[FiringAlert]:
    """Evaluate the rules now and return the firing alerts.

    The result is correct even when no process is left that would record alerts.
    """
    findings = evaluate_rules(await load_facts(session, standing))
    noted = {(each.rule, each.subject): each for each in await _load_open_alerts(session)}
    return [
        FiringAlert(**asdict(each), since=row.began_at if row else None, id=row.id if row else None)
        for each in findings
        for row in [noted.get((each.rule, each.subject))]
    ]


async def list_recent_alerts(
    session: AsyncSession, limit: int = MAX_RECENT_ALERTS
) -> Sequence[Alert]:
    """List cleared alerts, most recently begun first."""
    rows = await session.scalars(
        select(Alert)
        .where(Alert.cleared_at.is_not(None))
        .order_by(Alert.began_at.desc(), Alert.id.desc())
        .limit(limit)
    )
    return rows.all()


async def _load_open_alerts(session: AsyncSession) -> Sequence[Alert]:
    rows = await session.scalars(select(Alert).where(Alert.cleared_at.is_(None)))
    return rows.all()


async def check_alerts(database: Database, settings: Settings, stages: Sequence[AnyStage]) -> None:
    """Evaluate the rules, record alerts that began or cleared, and log them after the commit."""
    async with database.reading() as session:
        standing = await load_full_status(session, stages, settings)
        findings = evaluate_rules(await load_facts(session, standing))
    async with database.transaction() as session:
        began = await _store_begun(session, findings)
        cleared = await _store_cleared(session, findings)
        if settings.alert_webhook_url:
            await _emit_alerts(session, began, cleared)
    for each in began:
        log.error("alert", **_build_log_fields(each))
    for each in cleared:
        log.warning("alert over", **_build_log_fields(each), began_at=each.began_at.isoformat())


async def _store_begun(session: AsyncSession, findings: Sequence[AlertFinding]) -> Sequence[Alert]:
    """Record new alerts.

    If several processes find the same issue concurrently, only one records it.
    """
    if not findings:
        return ()
    inserted = await session.scalars(
        postgresql.insert(Alert)
        .values([{"id": uuid7(), **asdict(each)} for each in findings])
        .on_conflict_do_nothing(
            index_elements=[Alert.rule, Alert.subject], index_where=Alert.cleared_at.is_(None)
        )
        .returning(Alert)
    )
    return inserted.all()


async def _store_cleared(
    session: AsyncSession, findings: Sequence[AlertFinding]
) -> Sequence[Alert]:
    still = [(each.rule, each.subject) for each in findings]
    cleared = await session.scalars(
        update(Alert)
        .where(Alert.cleared_at.is_(None), tuple_(Alert.rule, Alert.subject).not_in(still))
        .values(cleared_at=func.now())
        .returning(Alert)
        .execution_options(synchronize_session=False)
    )
    return cleared.all()


async def _emit_alerts(
    session: AsyncSession, began: Sequence[Alert], cleared: Sequence[Alert]
) -> None:
    changes = ((WebhookEvent.ALERT_FIRED, began), (WebhookEvent.ALERT_RESOLVED, cleared))
    await emit_operator_events(
        session,
        [(event, each.id, build_alert_data(each)) for event, alerts in changes for each in alerts],
    )


def _build_log_fields(alert: Alert) -> dict[str, str]:
    about = {"subject": alert.subject} if alert.subject else {}
    return {"rule": alert.rule, **about, "sentence": alert.sentence, "alert_id": str(alert.id)}


def build_alert_chore(stages: Sequence[AnyStage]) -> Chore:
    async def run(database: Database, settings: Settings) -> None:
        # Deliver what is due before the evaluation too: without workers it is retried only here,
        # and would be evaluated as rows without a consumer.
        await deliver_operator_events(database, settings)
        await check_alerts(database, settings, stages)
        await deliver_operator_events(database, settings)

    return Chore(
        name="look_for_alerts",
        does="Evaluate the alert rules, and record which alerts began or cleared.",
        every=CHECK_INTERVAL,
        run=run,
    )
