"""The page of one contact: what it is, how we know, where it comes from, what was done to it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.history import history
from scrapersky.contacts.listing import CURATION
from scrapersky.contacts.schemas import Happened
from scrapersky.dashboard.details.deciding import deciding, rights
from scrapersky.dashboard.details.evidence import highlighted, method_in_words
from scrapersky.dashboard.details.looking import names_of
from scrapersky.dashboard.details.origin import BUSINESSES_SHOWN, origins_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.asked import what_of
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.errors import NotFound
from scrapersky.harvest.suppressing import is_suppressed
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    Actor,
    Contact,
    ContactEvidence,
    ContactKind,
    Domain,
    Job,
    Lead,
    Page,
    SitemapFile,
)

router = APIRouter(route_class=PageRoute)

EVIDENCE_SHOWN = 25
HISTORY_SHOWN = 30
CAN_BE_SUPPRESSED = (ContactKind.EMAIL, ContactKind.PHONE)
ACTS = {
    "contact.add": "added",
    "contact.edit": "corrected",
    "contact.delete": "deleted",
    "contact.curate": "decided",
    "contact.curate_undone": "took the decision back",
    "contact.undo": "took a decision back",
}


@router.get("/contacts/{contact_id}")
async def contact_page(
    actor: Viewer, session: Reading, show: Showing, contact_id: UUID
) -> HTMLResponse:
    row = (await session.execute(_lineage(actor, contact_id))).one_or_none()
    if row is None:
        raise NotFound(f"There is no contact {contact_id}.")
    contact, domain, page, file, job, lead_id, suppressed = row
    evidence = (await session.execute(_evidence(contact_id))).all()
    return show.page(
        "details/contact.html",
        title=contact.value,
        contact=contact,
        domain=domain,
        page=page,
        file=file,
        job=job,
        lead_id=lead_id,
        suppressed=suppressed,
        evidence=evidence,
        evidence_count=evidence[0].total if evidence else 0,
        can_be_suppressed=contact.kind in CAN_BE_SUPPRESSED,
        decision=deciding(CURATION, contact),
        how=method_in_words,
        highlighted=highlighted,
        origins=await origins_of(session, domain.id),
        origins_shown=BUSINESSES_SHOWN,
        what_of=what_of,
        provider=provider_in_words,
        **await _past(session, actor, contact, domain, job),
        **rights(actor),
    )


def _lineage(
    actor: Actor, contact_id: UUID
) -> Select[Contact, Domain, Page, SitemapFile, Job, UUID, bool]:
    """The contact and every step back to where it came in."""
    return (
        select(Contact, Domain, Page, SitemapFile, Job, Lead.id, is_suppressed(Contact))
        .join(Domain, Domain.id == Contact.domain_id)
        .outerjoin(Page, Page.id == Contact.page_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .outerjoin(Job, Job.id == SitemapFile.job_id)
        .outerjoin(Lead, Lead.domain_id == Contact.domain_id)
        .where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)
    )


def _evidence(contact_id: UUID) -> Select[ContactEvidence, str, str | None, int]:
    return (
        select(ContactEvidence, Page.url, Page.page_type, func.count().over().label("total"))
        .join(Page, Page.id == ContactEvidence.page_id)
        .where(ContactEvidence.contact_id == contact_id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(EVIDENCE_SHOWN)
    )


async def _past(
    session: AsyncSession, actor: Actor, contact: Contact, domain: Domain, job: Job | None
) -> dict[str, Any]:
    """What was done to it, and by whom it and its site came in."""
    done = await history(session, actor, contact.id)
    shown = done[:HISTORY_SHOWN]
    people = [each.actor_id for each in shown]
    makers = [contact.created_by, domain.created_by, job.created_by if job else None]
    return {
        "past": [(each, ACTS.get(each.action, each.action), _changes(each)) for each in shown],
        "past_more": len(done) - len(shown),
        "names": await names_of(session, [*people, *makers]),
    }


def _changes(happened: Happened) -> list[tuple[str, Any, Any]]:
    """Each as what was changed, from what, to what."""
    found = happened.details.get("changes")
    if not isinstance(found, dict):
        return []
    pairs = [(name, pair) for name, pair in found.items() if isinstance(pair, list)]
    return [(name, pair[0], pair[1]) for name, pair in pairs if len(pair) == 2]
