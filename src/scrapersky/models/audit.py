"""The audit log: one row per change, written in the transaction of the change."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Identity, Index, event, func
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, ORMExecuteState, Session, mapped_column

from scrapersky.db.base import Base
from scrapersky.models.accounts import Actor
from scrapersky.models.ownership import TenantMixin

RECORDED_KEY, CHANGED_KEY = "scrapersky.recorded", "scrapersky.changed"


class AuditEntry(Base, TenantMixin):
    """An append-only log entry. A rolled-back action leaves none."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("ix_audit_log_at", "tenant_id", "at", "id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.now())
    actor_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    api_key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"))
    request_id: Mapped[str | None]
    via: Mapped[str]
    action: Mapped[str]
    """Subject and verb: `job.cancel`."""
    subject_kind: Mapped[str]
    subject_id: Mapped[str | None]
    details: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Additional context. Must not contain secrets."""


def record(
    session: AsyncSession,
    actor: Actor,
    action: str,
    subject_id: UUID | str | None = None,
    **details: object,
) -> None:
    """Add an entry for an action, `subject.verb`, to the transaction that performs it."""
    kind, _, _ = action.partition(".")
    session.add(
        AuditEntry(
            tenant_id=actor.tenant_id,
            actor_id=actor.user_id,
            api_key_id=actor.key_id,
            request_id=actor.request_id,
            via=actor.via,
            action=action,
            subject_kind=kind,
            subject_id=None if subject_id is None else str(subject_id),
            details={name: value for name, value in details.items() if value is not None},
        )
    )
    session.info[RECORDED_KEY] = True


def has_recorded(session: AsyncSession) -> bool:
    """Return whether an action was recorded in this transaction."""
    return RECORDED_KEY in session.info


def has_unrecorded_changes(session: AsyncSession) -> bool:
    """Return whether the transaction changed rows without recording an action."""
    return CHANGED_KEY in session.info and not has_recorded(session)


@event.listens_for(Session, "do_orm_execute")
def _mark_statement(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        state.session.info[CHANGED_KEY] = True


@event.listens_for(Session, "after_flush")
def _mark_flush(session: Session, _: object) -> None:
    session.info[CHANGED_KEY] = True
