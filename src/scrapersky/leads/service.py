"""Get leads with their contacts and lineage, and update their curation status."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotFound
from scrapersky.leads.lineage import API_PREFIX, load_lineage
from scrapersky.leads.schemas import LeadContact, LeadDetail, LeadLineage, LeadOut, LeadStep
from scrapersky.models import Actor, Contact, Lead, LeadCuration, record
from scrapersky.models.suppression import is_suppressed

MAX_CONTACTS = 500


async def get_lead(session: AsyncSession, actor: Actor, lead_id: UUID) -> Lead:
    return await _load_lead(session, _select_lead(actor, lead_id), lead_id)


async def get_detail(session: AsyncSession, lead: Lead) -> LeadDetail:
    """Return a lead with its contacts, including suppressed ones."""
    result = await session.execute(
        select(Contact, is_suppressed(Contact))
        .where(Contact.domain_id == lead.domain_id)
        .order_by(Contact.kind, Contact.confidence.desc(), Contact.value)
        .limit(MAX_CONTACTS)
    )
    contacts = [
        _build_lead_contact(contact, suppressed=suppressed) for contact, suppressed in result
    ]
    return LeadDetail(**LeadOut.model_validate(lead).model_dump(), contact_list=contacts)


async def get_lineage(session: AsyncSession, lead: Lead) -> LeadLineage:
    origin = await load_lineage(
        session, domain_id=lead.domain_id, business_id=lead.local_business_id
    )
    step = LeadStep(id=lead.id, link=f"{API_PREFIX}/leads/{lead.id}", name=lead.name)
    return LeadLineage(lead=step, **dict(origin))


def _build_lead_contact(contact: Contact, *, suppressed: bool) -> LeadContact:
    columns = LeadContact.model_fields.keys() - {"suppressed"}
    values = {name: getattr(contact, name) for name in columns}
    return LeadContact(**values, suppressed=suppressed)


async def update_curation(
    session: AsyncSession, actor: Actor, lead_id: UUID, status: LeadCuration
) -> Lead:
    lead = await _load_lead(session, _select_lead(actor, lead_id).with_for_update(), lead_id)
    if lead.lead_curation_status != status:
        changes = {"lead_curation_status": [lead.lead_curation_status, status.value]}
        record(session, actor, "lead.edit", lead.id, changes=changes)
        lead.lead_curation_status = status.value
        await session.flush()
        await session.refresh(lead)
    return lead


def _select_lead(actor: Actor, lead_id: UUID) -> Select[Lead]:
    return select(Lead).where(Lead.id == lead_id, Lead.tenant_id == actor.tenant_id)


async def _load_lead(session: AsyncSession, statement: Select[Lead], lead_id: UUID) -> Lead:
    lead = await session.scalar(statement)
    if lead is None:
        raise NotFound(f"There is no lead {lead_id}.")
    return lead
