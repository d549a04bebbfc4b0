"""The contacts table and the page of one contact with its evidence and history."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts import service
from scrapersky.contacts.history import load_history
from scrapersky.contacts.listing import CONTACTS as LISTING
from scrapersky.contacts.listing import CURATION, EXPORT
from scrapersky.contacts.schemas import ContactEvent
from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    MAX_ORIGINS,
    build_decision_form,
    get_permissions,
    get_user_names,
    load_origins,
)
from scrapersky.dashboard.labels import (
    describe_extraction_method,
    describe_search,
    get_provider_label,
    highlight_snippet,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table
from scrapersky.errors import NotFound
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
from scrapersky.models.suppression import is_suppressed

router = APIRouter(route_class=PageRoute)

MAX_EVIDENCE = 25
MAX_HISTORY = 30
SUPPRESSIBLE_KINDS = (ContactKind.EMAIL, ContactKind.PHONE)
ACTION_LABELS = {
    "contact.add": "added",
    "contact.edit": "corrected",
    "contact.delete": "deleted",
    "contact.curate": "decided",
    "contact.curate_undone": "undid the decision",
    "contact.undo": "undid a decision",
}


@router.get("/contacts/{contact_id}")
async def contact_page(
    actor: Viewer, session: Reading, show: Renderer, contact_id: UUID
) -> HTMLResponse:
    row = (await session.execute(_build_lineage_query(actor, contact_id))).one_or_none()
    if row is None:
        raise NotFound(f"There is no contact {contact_id}.")
    contact, domain, page, file, job, lead_id, suppressed = row
    evidence = (await session.execute(_build_evidence_query(contact_id))).all()
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
        can_be_suppressed=contact.kind in SUPPRESSIBLE_KINDS,
        decision=build_decision_form(CURATION, contact),
        how=describe_extraction_method,
        highlighted=highlight_snippet,
        origins=await load_origins(session, domain.id),
        origins_shown=MAX_ORIGINS,
        what_of=describe_search,
        provider=get_provider_label,
        **await _load_history(session, actor, contact, domain, job),
        **get_permissions(actor),
    )


def _build_lineage_query(
    actor: Actor, contact_id: UUID
) -> Select[Contact, Domain, Page, SitemapFile, Job, UUID, bool]:
    """Select the contact and every step of its origin."""
    return (
        select(Contact, Domain, Page, SitemapFile, Job, Lead.id, is_suppressed(Contact))
        .join(Domain, Domain.id == Contact.domain_id)
        .outerjoin(Page, Page.id == Contact.page_id)
        .outerjoin(SitemapFile, SitemapFile.id == Page.sitemap_file_id)
        .outerjoin(Job, Job.id == SitemapFile.job_id)
        .outerjoin(Lead, Lead.domain_id == Contact.domain_id)
        .where(Contact.id == contact_id, Contact.tenant_id == actor.tenant_id)
    )


def _build_evidence_query(contact_id: UUID) -> Select[ContactEvidence, str, str | None, int]:
    return (
        select(ContactEvidence, Page.url, Page.page_type, func.count().over().label("total"))
        .join(Page, Page.id == ContactEvidence.page_id)
        .where(ContactEvidence.contact_id == contact_id)
        .order_by(ContactEvidence.confidence.desc(), ContactEvidence.id)
        .limit(MAX_EVIDENCE)
    )


async def _load_history(
    session: AsyncSession, actor: Actor, contact: Contact, domain: Domain, job: Job | None
) -> dict[str, Any]:
    """Load the audit entries of the contact and the users who created it and its site."""
    done = await load_history(session, actor, contact.id)
    visible = done[:MAX_HISTORY]
    people = [each.actor_id for each in visible]
    makers = [contact.created_by, domain.created_by, job.created_by if job else None]
    return {
        "past": [
            (each, ACTION_LABELS.get(each.action, each.action), _list_changes(each))
            for each in visible
        ],
        "past_more": len(done) - len(visible),
        "names": await get_user_names(session, [*people, *makers]),
    }


def _list_changes(happened: ContactEvent) -> list[tuple[str, Any, Any]]:
    """Return each change as field, old value, new value."""
    changes = happened.details.get("changes")
    if not isinstance(changes, dict):
        return []
    pairs = [(name, pair) for name, pair in changes.items() if isinstance(pair, list)]
    return [(name, pair[0], pair[1]) for name, pair in pairs if len(pair) == 2]


SUPPRESSED_BADGE = Markup(
    ' <span class="badge bad" title="On the do-not-contact list">do not contact</span>'
)


def _value(row: Row, may_change: bool) -> Markup:
    cell = cells.row_link("contacts", cells.attribute("value"))(row, may_change)
    return cell + SUPPRESSED_BADGE if row.suppressed else cell


def _name(row: Row, _: bool) -> Markup:
    return cells.shorten(row.name, 50) + cells.subtext(row.role)


def _kind(row: Row, _: bool) -> Markup:
    return cells.shorten(row.kind) + cells.subtext((row.email_type or "").lower())


def _percent(row: Row, _: bool) -> Markup:
    return Markup("{:.0f} %").format(row.confidence * 100)


CONTACTS_TABLE = Table(
    kind="contacts",
    title="Contacts",
    noun="contact",
    says="Every e-mail address, phone number and profile found on pages, with its evidence.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="pages",
    segments="contact_curation_status",
    prepare=service.build_contacts_out,
    labels={"suppressed": "Do not contact"},
    order="value kind contact_curation_status name domain page_url confidence last_seen_at",
    cells={"value": _value, "kind": _kind, "name": _name, "confidence": _percent},
    nothing=EmptyState(
        "Contacts are found on pages. Import domains or single pages, and their contacts appear "
        "here.",
        "/import?kind=pages",
        "Import pages",
    ),
)
