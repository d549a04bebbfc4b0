"""Delete old rows in batches, by one retention rule per table.

Never deleted: active jobs and their batches, a domain's latest job, jobs and deliveries with an
open dead letter, pending deliveries, hosts with a request in flight, and searches that found places
(the lineage of every lead ends there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, exists, func, inspect, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.db.base import Base
from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.models import (
    DELIVERY_STATUSES,
    AuditEntry,
    Batch,
    BatchJob,
    BulkAction,
    Domain,
    Job,
    SearchPlace,
    UserSession,
    WebhookDelivery,
)
from scrapersky.models.jobs import CANCELLED, JOB_STATUSES
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.tables import (
    Alert,
    ChoreFailure,
    DeadLetter,
    DeadLetterState,
    Host,
    HostSlot,
    ScheduleRun,
    StageEvent,
    Worker,
)
from scrapersky.settings import Settings

DELETE_BATCH_SIZE = 1_000
DELETE_INTERVAL = timedelta(hours=1)

log = get_logger(__name__)


@dataclass(frozen=True)
class RetentionRule:
    """How long rows of a table are kept."""

    model: type[Base]
    age: InstrumentedAttribute[Any]
    """The column from which the age of a row is computed."""
    setting: str
    """Name of the setting with the number of days."""
    only: Sequence[ColumnElement[bool]] = ()
    """Conditions that rows must meet to be deleted."""
    in_order: bool = False
    """Whether keys increase with time.

    The oldest rows are then found by key, without an index on the age.
    """

    @property
    def name(self) -> str:
        return str(self.model.__tablename__)

    def age_limit(self, settings: Settings) -> timedelta | None:
        """Return the maximum age; None if rows are kept forever."""
        days = getattr(settings, self.setting)
        return timedelta(days=days) if days else None


_is_latest_job = exists().where(Domain.id == Job.domain_id, Domain.last_sitemap_job_id == Job.id)
_has_places = exists().where(SearchPlace.search_id == Job.id)
_is_job_finished = Job.status.in_([JOB_STATUSES.done, JOB_STATUSES.failed, CANCELLED])
_has_active_job = exists().where(
    BatchJob.batch_id == Batch.id, BatchJob.job_id == Job.id, ~_is_job_finished
)
_is_dead_letter_open = DeadLetter.state == DeadLetterState.OPEN.value
_job_has_open_dead_letter = exists().where(DeadLetter.row_id == Job.id, _is_dead_letter_open)
_is_delivery_finished = WebhookDelivery.status.not_in(
    [DELIVERY_STATUSES.queued, DELIVERY_STATUSES.processing]
)
_delivery_has_open_dead_letter = exists().where(
    DeadLetter.row_id == WebhookDelivery.id, _is_dead_letter_open
)
_has_host_slot = exists().where(HostSlot.host == Host.host)
_is_circuit_open = func.coalesce(Host.circuit_open_until > func.now(), False)

RETENTION_RULES: tuple[RetentionRule, ...] = (
    RetentionRule(
        Job,
        Job.finished_at,
        "retention_jobs_days",
        only=(_is_job_finished, ~_is_latest_job, ~_job_has_open_dead_letter, ~_has_places),
    ),
    RetentionRule(
        Batch, Batch.created_at, "retention_jobs_days", only=(~_has_active_job,), in_order=True
    ),
    RetentionRule(StageEvent, StageEvent.at, "retention_stage_events_days", in_order=True),
    RetentionRule(
        DeadLetter,
        DeadLetter.closed_at,
        "retention_dead_letters_days",
        only=(~_is_dead_letter_open,),
    ),
    RetentionRule(ScheduleRun, ScheduleRun.started_at, "retention_schedule_runs_days"),
    # A chore that still exists and fails would have updated its row by then. Older rows belong to
    # chores that were removed.
    RetentionRule(ChoreFailure, ChoreFailure.failed_at, "retention_schedule_runs_days"),
    RetentionRule(AuditEntry, AuditEntry.at, "retention_audit_log_days", in_order=True),
    RetentionRule(BulkAction, BulkAction.created_at, "retention_bulk_actions_days", in_order=True),
    RetentionRule(
        WebhookDelivery,
        WebhookDelivery.created_at,
        "retention_webhook_deliveries_days",
        only=(_is_delivery_finished, ~_delivery_has_open_dead_letter),
    ),
    RetentionRule(UserSession, UserSession.expires_at, "retention_sessions_days"),
    RetentionRule(Worker, Worker.beat_at, "retention_workers_days"),
    RetentionRule(
        Host,
        Host.next_slot_at,
        "retention_hosts_days",
        only=(Host.max_concurrency.is_(None), ~_has_host_slot, ~_is_circuit_open),
    ),
    RetentionRule(Alert, Alert.cleared_at, "retention_alerts_days"),
)


async def delete_old_rows(database: Database, settings: Settings) -> dict[str, int]:
    """Apply all retention rules, and return the number of deleted rows by table."""
    deleted = {each.name: await _apply_rule(database, settings, each) for each in RETENTION_RULES}
    deleted = {name: count for name, count in deleted.items() if count}
    if deleted:
        log.info("old rows deleted", **deleted)
    return deleted


async def _apply_rule(database: Database, settings: Settings, kept: RetentionRule) -> int:
    limit = kept.age_limit(settings)
    total = 0
    while limit is not None:
        count = await _delete_batch(database, kept, limit)
        total += count
        if count < DELETE_BATCH_SIZE:
            break
    return total


async def _delete_batch(database: Database, kept: RetentionRule, limit: timedelta) -> int:
    """Delete one batch in its own transaction.

    Locked rows are skipped and left for the next run.
    """
    key = tuple_(*inspect(kept.model).primary_key)
    async with database.transaction() as session:
        result = await session.execute(_select_oldest(kept, limit))
        keys = [tuple(row) for row in result]
        if keys:
            gone = delete(kept.model).where(key.in_(keys))
            await session.execute(gone.execution_options(synchronize_session=False))
    return len(keys)


def _select_oldest(kept: RetentionRule, limit: timedelta) -> Select[Any]:
    keys = inspect(kept.model).primary_key
    conditions = [kept.age < func.now() - limit, *kept.only]
    if kept.in_order:
        (key,) = keys
        first = select(key).order_by(key).limit(DELETE_BATCH_SIZE)
        conditions.append(key.in_(first.scalar_subquery()))
    rows = select(*keys).where(*conditions).limit(DELETE_BATCH_SIZE)
    return rows.with_for_update(of=kept.model, skip_locked=True)


CHORE = Chore(
    name="delete_old_rows",
    does="Delete old rows, such as finished jobs, events and closed dead letters.",
    every=DELETE_INTERVAL,
    run=delete_old_rows,
)
