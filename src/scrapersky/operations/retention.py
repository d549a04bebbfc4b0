"""What is deleted when it is old: one line for each table, a little at a time.

Nothing that is still at work is ever touched: not a job that waits or runs nor its batch, not a
domain's last job, not a job or delivery whose dead letter is open, not a delivery that waits, not a
host with a request under way. A search that found places is kept for good, for the trail of every
lead ends there.
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
    DELIVERY_WORDS,
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
from scrapersky.models.jobs import CANCELLED, JOB_WORDS
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

BATCH_ROWS = 1_000
EVERY = timedelta(hours=1)

log = get_logger(__name__)


@dataclass(frozen=True)
class Kept:
    """Rows of a table, and for how long."""

    model: type[Base]
    age: InstrumentedAttribute[Any]
    """The moment from which on a row grows old."""
    setting: str
    """Days."""
    only: Sequence[ColumnElement[bool]] = ()
    """Which rows are deleted at all."""
    in_order: bool = False
    """Keys were given in the order of age, so the oldest are found without an index on it."""

    @property
    def name(self) -> str:
        return str(self.model.__tablename__)

    def age_limit(self, settings: Settings) -> timedelta | None:
        """None when rows are kept for ever."""
        days = getattr(settings, self.setting)
        return timedelta(days=days) if days else None


_last_of_its_domain = exists().where(
    Domain.id == Job.domain_id, Domain.last_sitemap_job_id == Job.id
)
_found_places = exists().where(SearchPlace.search_id == Job.id)
_ended = Job.status.in_([JOB_WORDS.done, JOB_WORDS.failed, CANCELLED])
_goes_on = exists().where(BatchJob.batch_id == Batch.id, BatchJob.job_id == Job.id, ~_ended)
_letter_is_open = DeadLetter.state == DeadLetterState.OPEN.value
_in_an_open_letter = exists().where(DeadLetter.row_id == Job.id, _letter_is_open)
_told_or_not = WebhookDelivery.status.not_in([DELIVERY_WORDS.queued, DELIVERY_WORDS.processing])
_told_in_an_open_letter = exists().where(DeadLetter.row_id == WebhookDelivery.id, _letter_is_open)
_asked_right_now = exists().where(HostSlot.host == Host.host)
_left_alone = func.coalesce(Host.circuit_open_until > func.now(), False)

KEPT: tuple[Kept, ...] = (
    Kept(
        Job,
        Job.finished_at,
        "retention_jobs_days",
        only=(_ended, ~_last_of_its_domain, ~_in_an_open_letter, ~_found_places),
    ),
    Kept(Batch, Batch.created_at, "retention_jobs_days", only=(~_goes_on,), in_order=True),
    Kept(StageEvent, StageEvent.at, "retention_stage_events_days", in_order=True),
    Kept(DeadLetter, DeadLetter.closed_at, "retention_dead_letters_days", only=(~_letter_is_open,)),
    Kept(ScheduleRun, ScheduleRun.started_at, "retention_schedule_runs_days"),
    # A failing chore fails again before that; what is older is of a chore that is no more.
    Kept(ChoreFailure, ChoreFailure.failed_at, "retention_schedule_runs_days"),
    Kept(AuditEntry, AuditEntry.at, "retention_audit_log_days", in_order=True),
    Kept(BulkAction, BulkAction.created_at, "retention_bulk_actions_days", in_order=True),
    Kept(
        WebhookDelivery,
        WebhookDelivery.created_at,
        "retention_webhook_deliveries_days",
        only=(_told_or_not, ~_told_in_an_open_letter),
    ),
    Kept(UserSession, UserSession.expires_at, "retention_sessions_days"),
    Kept(Worker, Worker.beat_at, "retention_workers_days"),
    Kept(
        Host,
        Host.next_slot_at,
        "retention_hosts_days",
        only=(Host.max_concurrency.is_(None), ~_asked_right_now, ~_left_alone),
    ),
    Kept(Alert, Alert.cleared_at, "retention_alerts_days"),
)


async def delete_old(database: Database, settings: Settings) -> dict[str, int]:
    """How many rows of which table were deleted."""
    deleted = {each.name: await _delete_old_of(database, settings, each) for each in KEPT}
    deleted = {name: count for name, count in deleted.items() if count}
    if deleted:
        log.info("old rows deleted", **deleted)
    return deleted


async def _delete_old_of(database: Database, settings: Settings, kept: Kept) -> int:
    limit = kept.age_limit(settings)
    total = 0
    while limit is not None:
        count = await _delete_batch(database, kept, limit)
        total += count
        if count < BATCH_ROWS:
            break
    return total


async def _delete_batch(database: Database, kept: Kept, limit: timedelta) -> int:
    """In a transaction of its own; rows that somebody else has locked are left for next time."""
    key = tuple_(*inspect(kept.model).primary_key)
    async with database.transaction() as session:
        found = await session.execute(_oldest(kept, limit))
        keys = [tuple(row) for row in found]
        if keys:
            gone = delete(kept.model).where(key.in_(keys))
            await session.execute(gone.execution_options(synchronize_session=False))
    return len(keys)


def _oldest(kept: Kept, limit: timedelta) -> Select[Any]:
    keys = inspect(kept.model).primary_key
    wanted = [kept.age < func.now() - limit, *kept.only]
    if kept.in_order:
        (key,) = keys
        first = select(key).order_by(key).limit(BATCH_ROWS)
        wanted.append(key.in_(first.scalar_subquery()))
    rows = select(*keys).where(*wanted).limit(BATCH_ROWS)
    return rows.with_for_update(of=kept.model, skip_locked=True)


CHORE = Chore(
    name="delete_old_rows",
    does="Delete ended jobs, events, closed dead letters and the like that are old.",
    every=EVERY,
    run=delete_old,
)
