"""What was done to a contact, by itself or among many, newest first."""

from __future__ import annotations

from datetime import datetime
from heapq import merge
from uuid import UUID

from sqlalchemy import Select, any_, literal, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.schemas import Happened
from scrapersky.errors import NotFound
from scrapersky.models import Actor, AuditEntry, BulkAction, BulkActionRows, Contact

SUBJECT = "contact"
MAX_ENTRIES = 500


async def history(session: AsyncSession, actor: Actor, contact_id: UUID) -> list[Happened]:
    """Also of one that was deleted: what was done to it stays known."""
    acts = [_acted(each) for each in await session.scalars(_acts(actor, contact_id))]
    decisions = await session.execute(_decisions(actor, contact_id))
    decided = sorted((each for row in decisions for each in _decided(*row)), key=_at, reverse=True)
    # Acts stay in the order in which they got at the row: their times are those of their beginning.
    done = list(merge(acts, decided, key=_at, reverse=True))
    if not done and await session.scalar(_there(actor, contact_id)) is None:
        raise NotFound(f"There is no contact {contact_id}, and never was.")
    return done[:MAX_ENTRIES]


def _at(happened: Happened) -> datetime:
    return happened.at


def _there(actor: Actor, contact_id: UUID) -> Select[UUID]:
    return select(Contact.id).where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)


def _acts(actor: Actor, contact_id: UUID) -> Select[AuditEntry]:
    return (
        select(AuditEntry)
        .where(
            AuditEntry.tenant_id == actor.tenant_id,
            AuditEntry.subject_kind == SUBJECT,
            AuditEntry.subject_id == str(contact_id),
        )
        .order_by(AuditEntry.id.desc())
        .limit(MAX_ENTRIES)
    )


def _decisions(actor: Actor, contact_id: UUID) -> Select[BulkAction, str]:
    return (
        select(BulkAction, BulkActionRows.before_status)
        .join(BulkActionRows, BulkActionRows.action_id == BulkAction.id)
        .where(
            BulkAction.tenant_id == actor.tenant_id,
            BulkAction.kind == SUBJECT,
            literal(contact_id) == any_(BulkActionRows.row_ids),
        )
        .order_by(BulkAction.created_at.desc())
        .limit(MAX_ENTRIES)
    )


def _acted(entry: AuditEntry) -> Happened:
    return Happened(
        at=entry.at,
        actor_id=entry.actor_id,
        via=entry.via,
        action=entry.action,
        details=entry.details,
    )


def _decided(action: BulkAction, before: str) -> list[Happened]:
    """One decision, and that it was taken back where it was."""
    changes = {"contact_curation_status": [before, action.to_status]}
    details = {
        "bulk_action_id": str(action.id),
        "changes": changes,
        "rows": action.updated_count,
        "note": action.details.get("note"),
    }
    made = Happened(
        at=action.created_at,
        actor_id=action.created_by,
        via=None,
        action="contact.curate",
        details={name: value for name, value in details.items() if value is not None},
    )
    if action.undone_at is None:
        return [made]
    undone = {"at": action.undone_at, "action": "contact.curate_undone"}
    return [made, made.model_copy(update=undone)]
