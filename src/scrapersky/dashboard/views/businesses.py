"""The businesses table and the page of one business with its sightings and pipeline steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import Select, and_, distinct, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.businesses.listing import BUSINESSES as LISTING
from scrapersky.businesses.listing import CURATION, EXPORT
from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row, address_text, provider_list, rating, website
from scrapersky.dashboard.details import build_decision_form, find_open_dead_letter, get_permissions
from scrapersky.dashboard.formats import humanize
from scrapersky.dashboard.labels import (
    describe_extraction_method,
    describe_match,
    describe_price,
    describe_search,
    format_hours,
    get_provider_label,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.dashboard.views import domain_progress
from scrapersky.dashboard.views.domain_progress import (
    PageCounts,
    PipelineStep,
    build_requeue_call,
    build_row_step,
    describe_counts,
    get_leading_status,
)
from scrapersky.errors import NotFound
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    DEEP_SCAN_STATUSES,
    EXTRACTION_STATUSES,
    PAGE_STATUSES,
    Actor,
    BusinessSighting,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    MergeState,
    Place,
    Provider,
    SearchPlace,
    User,
)
from scrapersky.models.domains import METADATA_STATUSES, SUBMISSION_STATUSES
from scrapersky.models.stage_names import (
    DEEP_SCAN_STAGE,
    EXTRACTION_STAGE,
    METADATA_STAGE,
    PAGE_STAGE,
    SUBMISSION_STAGE,
)
from scrapersky.pipeline.queue import queue_columns


def build_chain(
    business: LocalBusiness,
    places: Sequence[Place],
    domain: Domain | None,
    pages: PageCounts | None,
    lead: Lead | None,
) -> tuple[PipelineStep, ...]:
    extraction = queue_columns(LocalBusiness, "domain_extraction_status").of(business)
    return (
        _build_scan_step(places),
        build_row_step(
            "Find domain", EXTRACTION_STAGE, business.id, extraction, EXTRACTION_STATUSES
        ),
        *(_build_site_steps(domain, pages) if domain and pages else ()),
        _build_lead_step(lead),
    )


def _build_scan_step(places: Sequence[Place]) -> PipelineStep:
    words = Counter(each.deep_scan_status for each in places)
    failed = [each.id for each in places if each.deep_scan_status == DEEP_SCAN_STATUSES.failed]
    return PipelineStep(
        "Fetch place details",
        DEEP_SCAN_STAGE,
        get_leading_status(words, DEEP_SCAN_STATUSES),
        says=", ".join(describe_counts(words)),
        error=next((each.deep_scan_error for each in places if each.deep_scan_error), None),
        again=build_requeue_call(DEEP_SCAN_STAGE, failed) if failed else None,
    )


def _build_site_steps(domain: Domain, pages: PageCounts) -> tuple[PipelineStep, ...]:
    home = queue_columns(Domain, "status").of(domain)
    handed = queue_columns(Domain, "sitemap_analysis_status").of(domain)
    return (
        build_row_step("Home page", METADATA_STAGE, domain.id, home, METADATA_STATUSES),
        build_row_step("Sitemaps", SUBMISSION_STAGE, domain.id, handed, SUBMISSION_STATUSES),
        PipelineStep(
            "Read pages",
            PAGE_STAGE,
            get_leading_status(pages.statuses, PAGE_STATUSES),
            says=", ".join(describe_counts(pages.statuses)) or "No pages yet",
        ),
    )


def _build_lead_step(lead: Lead | None) -> PipelineStep:
    if lead is None:
        return PipelineStep("Lead", "", None, says="No lead yet")
    empty = (lead.why_empty or "").replace("_", " ")
    says = f"no contact: {empty}" if empty else _count_contacts(lead.contacts)
    return PipelineStep("Lead", "", "complete" if lead.completed_at else "in progress", says=says)


def _count_contacts(count: int) -> str:
    return "1 contact" if count == 1 else f"{count:,} contacts"


MAX_SIGHTINGS = 30
MAX_SEARCHES = 20
MAX_DUPLICATES = 10
FACT_LABELS = {
    "business_name": "Name",
    "address": "Address",
    "phone": "Phone",
    "website_url": "Website",
    "business_status": "In business",
}
"""Labels of the facts shown for each sighting."""


@dataclass(frozen=True)
class BusinessHead:
    business: LocalBusiness
    domain: Domain | None
    lead: Lead | None
    maker: str | None


@dataclass(frozen=True)
class DuplicateCandidate:
    """Another business that may be the same."""

    question: MergeCandidate
    business: LocalBusiness


def match_lead() -> Any:
    """Join condition: the lead of the business's site, or of the business if it has no site."""
    of_site = and_(LocalBusiness.domain_id.is_not(None), Lead.domain_id == LocalBusiness.domain_id)
    its_own = and_(LocalBusiness.domain_id.is_(None), Lead.local_business_id == LocalBusiness.id)
    return or_(of_site, its_own)


async def load_head(session: AsyncSession, actor: Actor, business_id: UUID) -> BusinessHead:
    result = await session.execute(
        select(LocalBusiness, Domain, Lead, User.name)
        .outerjoin(Domain, Domain.id == LocalBusiness.domain_id)
        .outerjoin(Lead, match_lead())
        .outerjoin(User, User.id == LocalBusiness.created_by)
        .where(LocalBusiness.id == business_id, LocalBusiness.tenant_id == actor.tenant_id)
        .limit(1)
    )
    row = result.one_or_none()
    if row is None:
        raise NotFound(f"There is no business {business_id}.")
    return BusinessHead(*row)


async def list_sightings(
    session: AsyncSession, business_id: UUID
) -> Sequence[tuple[BusinessSighting, Place | None]]:
    result = await session.execute(
        select(BusinessSighting, Place)
        .outerjoin(Place, Place.id == BusinessSighting.place_id)
        .where(BusinessSighting.business_id == business_id)
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
        .limit(MAX_SIGHTINGS)
    )
    return [(sighting, place) for sighting, place in result]


def list_stated_facts(sighting: BusinessSighting) -> list[tuple[str, str]]:
    facts: Mapping[str, Any] = sighting.facts
    return [(label, str(facts[name])) for name, label in FACT_LABELS.items() if facts.get(name)]


def build_searches_query(business_id: UUID) -> Select[Any, Any, Any, Any]:
    """Select the searches that found one of its places, each with the first place it found."""
    mine = select(Place.id).where(Place.local_business_id == business_id)
    link = aliased(
        SearchPlace,
        select(SearchPlace)
        .ext(distinct_on(SearchPlace.search_id))
        .where(SearchPlace.place_id.in_(mine))
        .order_by(SearchPlace.search_id, SearchPlace.position)
        .subquery(),
    )
    return (
        select(link, Job.params, Job.created_at, func.count().over().label("total"))
        .join(Job, Job.id == link.search_id)
        .order_by(Job.created_at.desc(), Job.id)
        .limit(MAX_SEARCHES)
    )


async def list_duplicates(session: AsyncSession, business_id: UUID) -> list[DuplicateCandidate]:
    """Return duplicate candidates, most likely first."""
    sides = (MergeCandidate.left_id, MergeCandidate.right_id)
    is_other = and_(LocalBusiness.id.in_(sides), LocalBusiness.id != business_id)
    result = await session.execute(
        select(MergeCandidate, LocalBusiness)
        .join(LocalBusiness, is_other)
        .where(
            or_(*(each == business_id for each in sides)), MergeCandidate.state == MergeState.OPEN
        )
        .order_by(MergeCandidate.score.desc(), MergeCandidate.id)
        .limit(MAX_DUPLICATES)
    )
    return [DuplicateCandidate(question, business) for question, business in result]


router = APIRouter(route_class=PageRoute)

ENDED_STATUSES = (EXTRACTION_STATUSES.done, EXTRACTION_STATUSES.failed)


@router.get("/local-businesses/{business_id}")
async def business_page(
    actor: Viewer, session: Reading, show: Renderer, business_id: UUID
) -> HTMLResponse:
    head = await load_head(session, actor, business_id)
    rows = (await session.execute(build_searches_query(business_id))).all()
    return show.page(
        "details/business.html",
        title=head.business.business_name or "Unnamed business",
        business=head.business,
        domain=head.domain,
        lead=head.lead,
        maker=head.maker,
        searches=rows,
        searches_count=rows[0].total if rows else 0,
        doubles=await list_duplicates(session, business_id),
        **await _load_provenance(session, head),
        **_get_formatters(head),
        letter_id=await find_open_dead_letter(session, EXTRACTION_STAGE, business_id),
        stage=EXTRACTION_STAGE,
        can_be_read_again=head.business.domain_extraction_status in ENDED_STATUSES,
        decision=build_decision_form(CURATION, head.business),
        **get_permissions(actor),
    )


async def _load_provenance(session: AsyncSession, head: BusinessHead) -> dict[str, Any]:
    """Load the sources and the pipeline steps of a business."""
    sightings = await list_sightings(session, head.business.id)
    places = [place for _, place in sightings if place is not None]
    pages = await domain_progress.count_pages(session, head.domain.id) if head.domain else None
    return {
        "sightings": sightings,
        "asked": [each for each in places if each.provider == Provider.GOOGLE],
        "is_osm": any(sighting.provider == Provider.OSM for sighting, _ in sightings),
        "steps": build_chain(head.business, places, head.domain, pages, head.lead),
        **await _load_contacts(session, head.domain),
    }


async def _load_contacts(session: AsyncSession, domain: Domain | None) -> dict[str, Any]:
    if domain is None:
        return {"contacts": (), "contact_count": 0}
    contacts, count = await domain_progress.list_first_contacts(session, domain.id)
    return {"contacts": contacts, "contact_count": count}


def _get_formatters(head: BusinessHead) -> dict[str, Any]:
    return {
        "hours": format_hours(head.business.hours),
        "price": describe_price(head.business.price_level),
        "matched": describe_match,
        "provider": get_provider_label,
        "said_by": list_stated_facts,
        "what_of": describe_search,
        "how": describe_extraction_method,
    }


RETRY_PATH = f"/stages/{EXTRACTION_STAGE}/rows/requeue"
_name_link = cells.row_link("local-businesses", cells.attribute("business_name"))
_extraction = cells.stage(
    "domain_extraction_status",
    "domain_extraction_error",
    failed=EXTRACTION_STATUSES.failed,
    retry=RETRY_PATH,
)


@dataclass(frozen=True)
class BusinessRow:
    """A business with its sources, number of searches and domain."""

    row: Row
    providers: Sequence[str]
    searches: int
    domain: str | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _load_rows(session: AsyncSession, rows: Sequence[Row]) -> list[BusinessRow]:
    result = await session.execute(
        select(
            BusinessSighting.business_id,
            func.array_agg(distinct(BusinessSighting.provider)),
            func.count(distinct(SearchPlace.search_id)),
        )
        .outerjoin(SearchPlace, SearchPlace.place_id == BusinessSighting.place_id)
        .where(BusinessSighting.business_id.in_([each.id for each in rows]))
        .group_by(BusinessSighting.business_id)
    )
    by_business = {business: (providers, searches) for business, providers, searches in result}
    names = await session.execute(
        select(Domain.id, Domain.domain).where(Domain.id.in_({each.domain_id for each in rows}))
    )
    domains: dict[UUID, str] = dict(names.all())
    return [
        BusinessRow(each, *by_business.get(each.id, ((), 0)), domains.get(each.domain_id))
        for each in rows
    ]


def _name(row: Row, may_change: bool) -> Markup:
    kind = humanize(row.categories[0]) if row.categories else None
    return _name_link(row, may_change) + cells.subtext(kind)


def _providers(row: Row, _: bool) -> Markup:
    return provider_list(row.providers)


def _domain(row: Row, may_change: bool) -> Markup:
    """Render the extraction status and the domain."""
    cell = _extraction(row, may_change)
    if row.domain is None:
        return cell
    link = Markup('<a href="/domains/{}">{}</a>').format(
        row.domain_id, cells.shorten(row.domain, 40)
    )
    return link + Markup("<br>") + cell


BUSINESSES_TABLE = Table(
    kind="local-businesses",
    title="Businesses",
    noun="business",
    says="One row per business, merged from all providers. Selecting a business finds its domain. "
    "Some data © OpenStreetMap contributors.",
    listing=LISTING,
    curation=CURATION,
    export=EXPORT,
    hands_in="places",
    segments="status",
    prepare=_load_rows,
    acts=(TableAction("Retry website", RETRY_PATH, "queued for retry", key="r", by_filter=False),),
    labels={"provider": "Source", "error": "Error contains", "search_id": "Search"},
    order="business_name status address phone website_url domain rating providers searches",
    cells={
        "business_name": _name,
        "address": address_text("address"),
        "website_url": website,
        "rating": rating("reviews_count"),
    },
    extra=(
        TableColumn("domain", "Domain", _domain, sort="domain_extraction_status"),
        TableColumn("providers", "Source", _providers),
        TableColumn(
            "searches", "Searches", lambda row, _: cells.render_number(row.searches), number=True
        ),
    ),
    nothing=EmptyState(
        "Businesses come from searches or from an imported list. Search for some, for example "
        "bakeries in Leipzig.",
        "/searches",
        "Search for businesses",
    ),
)
