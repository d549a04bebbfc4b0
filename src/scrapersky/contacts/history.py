"""Load the audit history of a contact, single edits and bulk actions, newest first."""

from __future__ import annotations

from datetime import datetime
from heapq import merge
from uuid import UUID

from sqlalchemy import Select, any_, literal, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.schemas import ContactEvent
from scrapersky.errors import NotFound
from scrapersky.models import Actor, AuditEntry, BulkAction, BulkActionRows, Contact

SUBJECT_KIND = "contact"
MAX_ENTRIES = 500


async def load_history(session: AsyncSession, actor: Actor, contact_id: UUID) -> list[ContactEvent]:
    """Load the history of a contact, including one that was deleted."""
    acts = [
        _build_audit_event(each)
        for each in await session.scalars(_select_audit_entries(actor, contact_id))
    ]
    decisions = await session.execute(_select_bulk_actions(actor, contact_id))
    decided = sorted(
        (each for row in decisions for each in _build_bulk_events(*row)),
        key=_get_time,
        reverse=True,
    )
    # Merge instead of sorting: audit entries carry the start time of their transaction, but their
    # order is the order in which they locked the row.
    done = list(merge(acts, decided, key=_get_time, reverse=True))
    if not done and await session.scalar(_select_contact_id(actor, contact_id)) is None:
        raise NotFound(f"There is no contact {contact_id} and no history of one.")
    return done[:MAX_ENTRIES]


def _get_time(happened: ContactEvent) -> datetime:
    return happened.at


def _select_contact_id(actor: Actor, contact_id: UUID) -> Select[UUID]:
    return select(Contact.id).where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)


def _select_audit_entries(actor: Actor, contact_id: UUID) -> Select[AuditEntry]:
    return (
        select(AuditEntry)
        .where(
            AuditEntry.tenant_id == actor.tenant_id,
            AuditEntry.subject_kind == SUBJECT_KIND,
            AuditEntry.subject_id == str(contact_id),
        )
        .order_by(AuditEntry.id.desc())
        .limit(MAX_ENTRIES)
    )


def _select_bulk_actions(actor: Actor, contact_id: UUID) -> Select[BulkAction, str]:
    return (
        select(BulkAction, BulkActionRows.before_status)
        .join(BulkActionRows, BulkActionRows.action_id == BulkAction.id)
        .where(
            BulkAction.tenant_id == actor.tenant_id,
            BulkAction.kind == SUBJECT_KIND,
            literal(contact_id) == any_(BulkActionRows.row_ids),
        )
        .order_by(BulkAction.created_at.desc())
        .limit(MAX_ENTRIES)
    )


def _build_audit_event(entry: AuditEntry) -> ContactEvent:
    return ContactEvent(
        at=entry.at,
        actor_id=entry.actor_id,
        via=entry.via,
        action=entry.action,
        details=entry.details,
    )


def _build_bulk_events(action: BulkAction, before: str) -> list[ContactEvent]:
    """Return the bulk action as an event, and its undo as a second one."""
    changes = {"contact_curation_status": [before, action.to_status]}
    details = {
        "bulk_action_id": str(action.id),
        "changes": changes,
        "rows": action.updated_count,
        "note": action.details.get("note"),
    }
    event = ContactEvent(
        at=action.created_at,
        actor_id=action.created_by,
        via=None,
        action="contact.curate",
        details={name: value for name, value in details.items() if value is not None},
    )
    if action.undone_at is None:
        return [event]
    undone = {"at": action.undone_at, "action": "contact.curate_undone"}
    return [event, event.model_copy(update=undone)]
