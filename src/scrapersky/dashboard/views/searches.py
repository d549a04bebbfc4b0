"""The searches table, the search form and the live page of one search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from time import monotonic
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import and_, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells, labels
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import (
    find_open_dead_letter,
    get_permissions,
    handle_deleted_row,
    is_unchanged,
    parse_subject_id,
)
from scrapersky.dashboard.formats import EMPTY_VALUE, format_number, render_badge
from scrapersky.dashboard.labels import describe_search, get_provider_label, list_search_facts
from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.dashboard.views.search_coverage import load_coverage
from scrapersky.dashboard.views.search_results import (
    build_leads_path,
    describe_coverage,
    list_newest_places,
    load_changes,
    load_counts,
)
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Reading
from scrapersky.jobs import service as job_service
from scrapersky.models import (
    JOB_STATUSES,
    Actor,
    CostEntry,
    CostState,
    Job,
    JobType,
    PlaceSightingState,
    Provider,
    SavedSearch,
    SearchPlace,
    User,
)
from scrapersky.models.jobs import CANCELLED
from scrapersky.models.stage_names import SEARCH_STAGE
from scrapersky.pipeline.tables import Worker
from scrapersky.places.budget.charges import BUDGET_EXHAUSTED, format_usd
from scrapersky.places.search.listing import SEARCHES as LISTING
from scrapersky.places.search.service import get_search
from scrapersky.settings import Settings

form_router = APIRouter(route_class=PageRoute)

NAMED, AROUND, RECTANGLE = "named", "around", "rectangle"
"""Ways to specify the area."""
FORM_FIELDS = (
    "business_type",
    "location",
    "radius_km",
    "center",
    "area",
    "language",
    "region",
    "go_on",
)
FILTER_FIELDS = ("has_website", "has_phone", "min_rating", "open")


@form_router.get("/searches/new")
async def new_search(
    actor: Curator,
    session: Reading,
    show: Renderer,
    like: UUID | None = Query(None, alias="from"),
) -> HTMLResponse:
    settings = show.context.settings
    params: dict[str, Any] = await _load_params(session, actor, like) if like else {}
    return show.page(
        "searching/new.html",
        title="Search for businesses",
        given=dict.fromkeys(FORM_FIELDS) | params,
        filters=dict.fromkeys(FILTER_FIELDS) | (params.get("filters") or {}),
        has_further=any(params.get(each) for each in ("filters", "language", "region")),
        where=_get_area_kind(params),
        provider=_choose_provider(params, settings),
        has_key=bool(settings.google_places_api_key),
        most=params.get("max_results") or settings.place_search_max_results,
        language=settings.places_language,
        region=settings.places_region,
    )


async def _load_params(session: AsyncSession, actor: Actor, search_id: UUID) -> dict[str, Any]:
    """Return the parameters of another search to duplicate; empty if there is none."""
    job = await job_service.get(session, actor, search_id)
    return job.params if job.job_type == JobType.PLACE_SEARCH else {}


def _get_area_kind(params: Mapping[str, Any]) -> str:
    if params.get("area"):
        return RECTANGLE
    return AROUND if params.get("center") else NAMED


def _choose_provider(params: Mapping[str, Any], settings: Settings) -> str:
    """Default to Google, which has the most businesses, if an API key is set."""
    if not settings.google_places_api_key:
        return Provider.OSM
    return str(params.get("provider") or Provider.GOOGLE)


router = APIRouter(route_class=PageRoute)

PARTS = ("head", "state", "results", "coverage", "changes", "asked")
ACTIVE_STATUSES = (JOB_STATUSES.queued, JOB_STATUSES.processing)
ENDED_POLL_SECONDS = 5
"""Poll interval of a finished search, whose places continue through the pipeline."""


@router.get("/searches/{search_id}")
async def search_page(
    actor: Viewer, session: Reading, show: Renderer, search_id: UUID
) -> HTMLResponse:
    data = await _load_search(session, actor, await get_search(session, actor, search_id))
    title = f"Search: {data['what']}"
    return show.page("searching/search.html", title=title, parts=PARTS, **data)


async def _load_search(session: AsyncSession, actor: Actor, job: Job) -> dict[str, Any]:
    saved, created_by, host, pid = await _load_context(session, job)
    counts = await load_counts(session, job.id)
    coverage = await load_coverage(session, job.id)
    return {
        **get_permissions(actor),
        "job": job,
        "what": labels.describe_search(job.params),
        "where": labels.describe_area(job.params),
        "facts": labels.list_search_facts(job.params),
        "provider": get_provider_label(job.params.get("provider")),
        "is_osm": job.params.get("provider") == Provider.OSM,
        "saved": saved,
        "asker": created_by,
        "worker": f"{host}, process {pid}" if host and actor.is_operator else None,
        "counts": counts,
        "coverage": coverage,
        "covered": describe_coverage(counts, coverage),
        "located_by_name": labels.is_named_area(job.params),
        "newest": await list_newest_places(session, job.id),
        "changes": await load_changes(session, job),
        "letter_id": await _find_dead_letter(session, job),
        "is_active": job.status in ACTIVE_STATUSES,
        "waits": job.status == JOB_STATUSES.queued and bool(job.error),
        "about_money": (job.error or "").startswith(BUDGET_EXHAUSTED),
        "leads_link": build_leads_path(job.id),
        "can_retry": job.status in (JOB_STATUSES.failed, CANCELLED),
        "dollars": format_usd,
    }


async def _find_dead_letter(session: AsyncSession, job: Job) -> UUID | None:
    if job.status != JOB_STATUSES.failed:
        return None
    return await find_open_dead_letter(session, SEARCH_STAGE, job.id)


async def _load_context(session: AsyncSession, job: Job) -> Sequence[Any]:
    """Load the schedule of the search, its creator and its worker."""
    repeats = and_(
        SavedSearch.tenant_id == Job.tenant_id,
        SavedSearch.subject == Job.subject,
        SavedSearch.is_active,
    )
    result = await session.execute(
        select(SavedSearch, User.name, Worker.hostname, Worker.pid)
        .select_from(Job)
        .outerjoin(SavedSearch, repeats)
        .outerjoin(User, User.id == Job.created_by)
        .outerjoin(Worker, Worker.id == Job.worker_id)
        .where(Job.id == job.id)
    )
    return result.one_or_none() or (None, None, None, None)


async def _render_parts(live: LiveContext) -> Parts:
    session, actor = live.session, live.actor
    job = await get_search(session, actor, parse_subject_id(live))
    stamp = (job.status, job.updated_at, int(monotonic() / ENDED_POLL_SECONDS))
    if is_unchanged(live, stamp) and job.status not in ACTIVE_STATUSES:
        return {}
    data = await _load_search(session, actor, job)
    return {
        f"search-{name}": live.show.part(f"searching/search_{name}.html", **data) for name in PARTS
    }


VIEW = LiveView("search", handle_deleted_row(_render_parts, "search-head"))


RETRY_PATH = "/jobs/retry"
FILTER_FACTS = ("Website", "Phone", "Rating", "In business")


@dataclass(frozen=True)
class SearchRow:
    """A search with its results so far."""

    row: Row
    found: int
    new: int
    usd: Decimal

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def load_search_rows(session: AsyncSession, rows: Sequence[Row]) -> list[SearchRow]:
    """Count results from stored rows, because a running search has no result yet."""
    ids = [each.id for each in rows]
    places: Any = await session.execute(
        select(
            SearchPlace.search_id,
            func.count(),
            func.count().filter(SearchPlace.sighted == PlaceSightingState.NEW),
        )
        .where(SearchPlace.search_id.in_(ids))
        .group_by(SearchPlace.search_id)
    )
    spent: Any = await session.execute(
        select(CostEntry.search_id, func.sum(CostEntry.usd))
        .where(CostEntry.search_id.in_(ids), CostEntry.state != CostState.NOT_BILLED)
        .group_by(CostEntry.search_id)
    )
    by_search = {search_id: (count, new) for search_id, count, new in places}
    usd: dict[Any, Decimal] = dict(spent.all())
    return [
        SearchRow(each, *by_search.get(each.id, (0, 0)), usd.get(each.id, Decimal(0)))
        for each in rows
    ]


_query_link = cells.row_link("searches", lambda row: describe_search(row.params))


def _query(row: Row, may_change: bool) -> Markup:
    facts = list_search_facts(row.params)
    filters = [f"{name}: {facts[name]}" for name in FILTER_FACTS if name in facts]
    return _query_link(row, may_change) + cells.subtext("; ".join(filters))


def _provider_cell(row: Row, _: bool) -> Markup:
    return cells.shorten(get_provider_label(row.params.get("provider")))


def _status(row: Row, may_change: bool) -> Markup:
    """Render the status with the progress while it runs, or the reason it waits or failed."""
    share = f" {round(row.progress * 100)} %" if row.status == JOB_STATUSES.processing else ""
    cell = render_badge(row.status) + share + cells.subtext(row.error)
    failed = row.status == JOB_STATUSES.failed and may_change
    return cell + cells.retry_button(row, RETRY_PATH) if failed else cell


def _results_cell(row: Row, _: bool) -> Markup:
    new = f"{format_number(row.new)} new" if row.found else ""
    return Markup("{}").format(format_number(row.found)) + cells.subtext(new)


def _cost(row: Row, _: bool) -> Markup:
    return Markup("{}").format(format_usd(row.usd)) if row.usd else EMPTY_VALUE


SEARCHES_TABLE = Table(
    kind="searches",
    title="Searches",
    noun="search",
    says="Searches for businesses with place providers, and their results.",
    listing=LISTING,
    prepare=load_search_rows,
    segments="status",
    begins=True,
    acts=(
        TableAction("Retry", RETRY_PATH, "queued for retry", key="r", by_filter=False),
        TableAction("Cancel", "/jobs/cancel", "cancelled", key="c", danger=True, by_filter=False),
    ),
    order="subject provider status found cost",
    cells={"subject": _query, "provider": _provider_cell, "status": _status},
    extra=(
        TableColumn("found", "Found", _results_cell, number=True),
        TableColumn("cost", "Cost", _cost, number=True),
    ),
    nothing=EmptyState(
        "Search for a type of business in an area. Places are found first, then their websites, "
        "then their contacts.",
        "/searches/new",
        "Search for businesses",
    ),
)
