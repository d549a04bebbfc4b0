"""Queue columns that accompany a status column, their indexes, and the claim of one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    DateTime,
    Index,
    SmallInteger,
    Text,
    Uuid,
    case,
    func,
    text,
)
from sqlalchemy.orm import InstrumentedAttribute, mapped_column

from scrapersky.db.base import Base
from scrapersky.db.statements import inline_text

Model = TypeVar("Model", bound=Base)

PRESERVED_DECISION = "Skipped"
"""A person's decision that processing does not overwrite.

Selected is a request, and is overwritten.
"""
ISOLATE_AFTER_RESCUES = 2
"""Rescues after which a row is worked in a separate process, one such row at a time.

A row that was lost with its worker this often may be what kills workers. The number is part of an
index.
"""


@dataclass(frozen=True)
class StatusNames:
    """A stage's words for its statuses. Operators know these words, so each stage has its own."""

    queued: str
    processing: str
    done: str
    failed: str
    cancelled: str | None = None
    """Status of a row that people removed from the queue. Without it, such a row is failed."""
    skipped: str | None = None
    """Status of a row for which there was nothing to do. Without it, such a row is done."""

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(word for word in vars(self).values() if word is not None)


class LossTally(StrEnum):
    """How an outcome changes a row's counts of rescues and interruptions."""

    KEEP = "keep"
    CLEAR = "clear"
    RESCUED = "rescued"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Claim:
    """The right to work and store one row.

    The token is its proof (a fencing token): each claim sets a new one.
    """

    row_id: UUID
    token: UUID
    attempts: int
    rescues: int = 0
    interruptions: int = 0
    began: float = field(default_factory=monotonic, compare=False)


@dataclass(frozen=True)
class RowChange:
    """How settling changes a row: its next status, and its delay if it is requeued."""

    row_id: UUID
    token: UUID | None
    status: str
    delay: timedelta | None = None
    refund: int = 0
    error: str | None = None
    tally: LossTally = LossTally.CLEAR


@dataclass(frozen=True)
class QueueState:
    """The state of one row in one queue."""

    status: str
    due_at: datetime
    attempts: int
    rescues: int
    interruptions: int
    lease_token: UUID | None
    lease_expires_at: datetime | None
    worker_id: UUID | None
    error: str | None


@dataclass(frozen=True)
class QueueColumns:
    """The mapped columns of one queue of a model."""

    status: InstrumentedAttribute[str]
    due_at: InstrumentedAttribute[datetime]
    attempts: InstrumentedAttribute[int]
    rescues: InstrumentedAttribute[int]
    """How often the row was lost with its worker since its last verdict."""
    interruptions: InstrumentedAttribute[int]
    """How often a database outage ended its work since then. Neither count costs an attempt."""
    lease_token: InstrumentedAttribute[UUID | None]
    lease_expires_at: InstrumentedAttribute[datetime | None]
    worker_id: InstrumentedAttribute[UUID | None]
    error: InstrumentedAttribute[str | None]

    def of(self, row: Base) -> QueueState:
        return QueueState(**{name: getattr(row, each.key) for name, each in vars(self).items()})


def get_prefix(status: str) -> str:
    """Return the prefix of a queue's columns.

    `sitemap_analysis_status` → `sitemap_analysis_`; plain `status` has none.
    """
    return status.removesuffix("status")


def queue_columns(model: type[Base], status: str) -> QueueColumns:
    prefix = get_prefix(status)
    names = [each for each in QueueColumns.__dataclass_fields__ if each != "status"]
    return QueueColumns(
        status=getattr(model, status), **{name: getattr(model, prefix + name) for name in names}
    )


def follow_status(
    curation: InstrumentedAttribute[str], words: StatusNames, status: ColumnElement[str] | str
) -> ColumnElement[str]:
    """Build the value of a curation column whose row gets this status.

    A skipped row counts as done here, because only the status has a word for skipped.
    """
    new: Any = inline_text(status) if isinstance(status, str) else status
    if words.skipped is not None:
        done = inline_text(words.done)
        new = case((new == inline_text(words.skipped), done), else_=new)
    return case((curation == inline_text(PRESERVED_DECISION), curation), else_=new)


def declare_queue(
    status: str,
    *,
    words: StatusNames,
    initial: str | None = None,
    also: Sequence[str] = (),
    order: Sequence[str] = (),
) -> Callable[[type[Model]], type[Model]]:
    """Add a queue to a model: its status column, the queue columns, their indexes and the CHECK.

    `also` are further values of the status. `order` are columns that precede the due time in the
    queue's index (a fixed filter, a priority).
    """

    def declare(model: type[Model]) -> type[Model]:
        prefix = get_prefix(status)
        for name, mapped in _build_columns(initial or words.queued).items():
            setattr(model, status if name == "status" else prefix + name, mapped)
        allowed = {*words.all, *also}
        _add_check(model, status, sorted({*allowed, initial or words.queued}))
        _add_indexes(model, status, words, order)
        return model

    return declare


def _build_columns(initial: str) -> Mapping[str, Any]:
    return {
        "status": mapped_column(Text, nullable=False, server_default=initial),
        "due_at": mapped_column(DateTime(timezone=True), nullable=False, server_default=func.now()),
        "attempts": mapped_column(SmallInteger, nullable=False, server_default="0"),
        "rescues": mapped_column(SmallInteger, nullable=False, server_default="0"),
        "interruptions": mapped_column(SmallInteger, nullable=False, server_default="0"),
        "lease_token": mapped_column(Uuid, nullable=True),
        "lease_expires_at": mapped_column(DateTime(timezone=True), nullable=True),
        "worker_id": mapped_column(Uuid, nullable=True),
        "error": mapped_column(Text, nullable=True),
    }


def _add_check(model: type[Base], status: str, allowed: Sequence[str]) -> None:
    listed = ", ".join(f"'{word}'" for word in allowed)
    table: Any = model.__table__
    table.append_constraint(CheckConstraint(f"{status} IN ({listed})", name=status))


def _add_indexes(model: type[Base], status: str, words: StatusNames, order: Sequence[str]) -> None:
    """Add partial indexes for due rows, rows held by a worker, failed rows and isolated rows.

    They are small, because they contain only the rows in one status.
    """
    table: Any = model.__table__
    prefix = get_prefix(status)
    columns = [table.c[name] for name in (*order, f"{prefix}due_at", "id")]
    where = text(f"{status} = '{words.queued}'")
    Index(f"ix_{table.name}_{prefix}due", *columns, postgresql_where=where)
    held = text(f"{status} = '{words.processing}'")
    Index(f"ix_{table.name}_{prefix}held", table.c[f"{prefix}worker_id"], postgresql_where=held)
    failed = text(f"{status} = '{words.failed}'")
    Index(f"ix_{table.name}_{prefix}failed", table.c.id, postgresql_where=failed)
    isolated = text(f"{prefix}rescues >= {ISOLATE_AFTER_RESCUES}")
    Index(f"ix_{table.name}_{prefix}isolated", table.c.id, postgresql_where=isolated)
