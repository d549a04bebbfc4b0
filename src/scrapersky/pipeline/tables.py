"""The engine's tables: workers, hosts, dead letters, events, schedule runs, controls and alerts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Float,
    Identity,
    Index,
    Integer,
    SmallInteger,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7


class Worker(Base):
    """A process that works queues. It counts as dead when its heartbeat is too old."""

    __tablename__ = "workers"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    hostname: Mapped[str]
    boot_id: Mapped[str]
    """The machine's boot and PID namespace, within which a pid identifies a process."""
    pid: Mapped[int] = mapped_column(Integer)
    pid_start: Mapped[int]
    """Start of the process in clock ticks since boot, because pids are reused."""
    version: Mapped[str]
    stages: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Per stage: the last tick, the number of rows in progress, or why it could not be registered.
    """
    vitals: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """State of the process itself: its wake-up listener, free disk space, exhausted resources."""
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    beat_at: Mapped[datetime] = mapped_column(server_default=func.now())


class DeadLetterState(StrEnum):
    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


class DeadLetter(Base):
    """A row that failed permanently, with everything needed to find out why."""

    __tablename__ = "dead_letters"
    __table_args__ = (
        CheckConstraint("state IN ('open', 'replayed', 'discarded')", name="state"),
        Index(
            "ix_dead_letters_open",
            "stage",
            "row_id",
            unique=True,
            postgresql_where=text("state = 'open'"),
        ),
        Index("ix_dead_letters_died_at", "died_at", "id"),
        Index(
            "ix_dead_letters_open_died_at",
            "tenant_id",
            "died_at",
            "id",
            postgresql_where=text("state = 'open'"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    tenant_id: Mapped[UUID | None]
    stage: Mapped[str]
    row_id: Mapped[UUID]
    attempts: Mapped[int] = mapped_column(SmallInteger)
    error_class: Mapped[str]
    error: Mapped[str]
    traceback: Mapped[str | None]
    first_failed_at: Mapped[datetime] = mapped_column(server_default=func.now())
    died_at: Mapped[datetime] = mapped_column(server_default=func.now())
    worker: Mapped[str]
    """Host and process id, readable after the worker's row is gone."""
    state: Mapped[str] = mapped_column(server_default=DeadLetterState.OPEN)
    note: Mapped[str | None]
    closed_at: Mapped[datetime | None]
    closed_by: Mapped[UUID | None]


class EventKind(StrEnum):
    COMPLETED = "completed"
    SKIPPED = "skipped"
    RETRIED = "retried"
    SNOOZED = "snoozed"
    FAILED = "failed"
    RESCUED = "rescued"
    INTERRUPTED = "interrupted"
    """A database outage ended the attempt, which does not count."""
    HANDED_BACK = "handed_back"
    FENCED = "fenced"


class StageEvent(Base):
    """What happened to a row in a stage. Append-only, deleted after the retention period.

    Rows that were completed together share one event. It has their number and durations but not
    their ids, because the rows themselves show that they are done.
    """

    __tablename__ = "stage_events"
    __table_args__ = (
        Index("ix_stage_events_row_id", "row_id", "id"),
        Index("ix_stage_events_stage_at", "stage", "at"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    stage: Mapped[str]
    row_id: Mapped[UUID | None]
    kind: Mapped[str]
    rows: Mapped[int] = mapped_column(Integer, server_default="1")
    worker_id: Mapped[UUID | None]
    attempt: Mapped[int | None] = mapped_column(SmallInteger)
    durations_ms: Mapped[list[int] | None] = mapped_column(ARRAY(Integer))
    error: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(server_default=func.now())


class StageControl(Base, TimestampMixin):
    """An operator's changes to a stage at run time."""

    __tablename__ = "stage_controls"

    stage: Mapped[str] = mapped_column(primary_key=True)
    paused: Mapped[bool] = mapped_column(server_default="false")
    pace: Mapped[dict[str, Any] | None]
    """The changed fields of its pace; NULL means that the settings apply."""
    note: Mapped[str | None]
    changed_by: Mapped[UUID | None]


class ScheduleRun(Base):
    """One time slot of one chore. The process that inserts the row runs the chore."""

    __tablename__ = "schedule_runs"

    name: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[datetime] = mapped_column(primary_key=True)
    worker_id: Mapped[UUID | None]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ChoreFailure(Base):
    """A chore whose last run failed. The next successful run deletes the row."""

    __tablename__ = "chore_failures"

    name: Mapped[str] = mapped_column(primary_key=True)
    error: Mapped[str]
    """The error of the last run."""
    failures: Mapped[int] = mapped_column(Integer, server_default="1")
    """Consecutive failures."""
    began_at: Mapped[datetime] = mapped_column(server_default=func.now())
    failed_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Alert(Base):
    """An issue from when it began until it cleared."""

    __tablename__ = "alerts"
    __table_args__ = (
        Index(
            "ix_alerts_firing",
            "rule",
            "subject",
            unique=True,
            postgresql_where=text("cleared_at IS NULL"),
        ),
        Index("ix_alerts_began_at", "began_at", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    rule: Mapped[str]
    subject: Mapped[str] = mapped_column(server_default="")
    """The stage, worker or machine concerned; empty if it concerns the whole installation."""
    sentence: Mapped[str]
    began_at: Mapped[datetime] = mapped_column(server_default=func.now())
    cleared_at: Mapped[datetime | None]


class Host(Base, TimestampMixin):
    """Rate limit and circuit breaker state of a host, shared by all workers."""

    __tablename__ = "hosts"
    __table_args__ = (
        Index(
            "ix_hosts_circuit_open_until",
            "circuit_open_until",
            postgresql_where=text("circuit_open_until IS NOT NULL"),
        ),
        {"postgresql_with": {"fillfactor": 70}},
    )

    host: Mapped[str] = mapped_column(primary_key=True)
    next_slot_at: Mapped[datetime] = mapped_column(server_default=func.now())
    max_concurrency: Mapped[int | None] = mapped_column(Integer)
    """Most concurrent requests; NULL means the default from the settings."""
    crawl_delay_seconds: Mapped[float | None] = mapped_column(Float)
    """The delay from its robots.txt; NULL means the default from the settings."""
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive failures, reset by a good response."""
    timeouts: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive timeouts, reset by any response."""
    is_proven: Mapped[bool] = mapped_column(server_default="false")
    """Whether it has answered and not timed out since.

    Rows of unproven hosts share a limited number of slots.
    """
    circuit_open_until: Mapped[datetime | None]
    circuit_reason: Mapped[str | None]


class HostSlot(Base):
    """A request in flight.

    Slots are rows and not a counter, because a counter leaks when its process is killed.
    """

    __tablename__ = "host_slots"
    __table_args__ = (Index("ix_host_slots_host", "host"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    host: Mapped[str]
    worker_id: Mapped[UUID | None]
    taken_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
