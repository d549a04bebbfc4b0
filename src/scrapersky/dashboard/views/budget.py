"""The budget page and the ledger of billed provider requests."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import get_permissions
from scrapersky.dashboard.formats import EMPTY_VALUE, humanize
from scrapersky.dashboard.labels import describe_billed_method, describe_sku, get_provider_label
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Overview, Reading
from scrapersky.lists import ListQuery
from scrapersky.places.budget.charges import format_usd
from scrapersky.places.budget.listing import COST_ENTRIES
from scrapersky.places.budget.listing import COST_ENTRIES as LISTING
from scrapersky.places.budget.schemas import BudgetOut
from scrapersky.places.budget.service import get_installation_budget, load_budget

router = APIRouter(route_class=PageRoute)

MAX_ENTRIES = 20
LOW_BUDGET_SHARE = 0.8
"""Share of the cap from which the bar changes colour."""


@dataclass(frozen=True)
class BudgetUse:
    """Use of the monthly cap."""

    share: float
    """0 to 1; 1 if the cap is 0."""
    tone: str

    @property
    def percent(self) -> int:
        """100 only when the cap is fully used."""
        return 100 if self.share >= 1 else min(round(self.share * 100), 99)


def build_budget_use(budget: BudgetOut) -> BudgetUse:
    cap, spent = budget.monthly_cap_usd, budget.spent_usd
    if not cap:
        return BudgetUse(1.0 if spent else 0.0, "poor")
    share = float(min(spent / cap, Decimal(1)))
    return BudgetUse(
        share, "bad" if share >= 1 else "poor" if share >= LOW_BUDGET_SHARE else "good"
    )


@router.get("/budget")
async def budget_page(
    actor: Viewer, session: Reading, overview: Overview, show: Renderer
) -> HTMLResponse:
    settings = show.context.settings
    budget = await load_budget(session, actor, settings)
    installation = await get_installation_budget(overview, settings) if actor.is_operator else None
    ledger = await COST_ENTRIES.show(session, actor, ListQuery(limit=MAX_ENTRIES))
    return show.page(
        "searching/budget.html",
        title="Budget",
        budget=budget,
        spent=build_budget_use(budget),
        installation=installation,
        entries=ledger.rows,
        has_more=ledger.next_cursor is not None,
        has_key=bool(settings.google_places_api_key),
        dollars=format_usd,
        sku_in_words=describe_sku,
        method_in_words=describe_billed_method,
        **get_permissions(actor),
    )


def _provider(row: Row, _: bool) -> Markup:
    return cells.shorten(get_provider_label(row.provider))


def _kind(row: Row, _: bool) -> Markup:
    return cells.shorten(describe_sku(row.sku))


def _costs(row: Row, _: bool) -> Markup:
    return Markup("free") if row.is_free else Markup("{}").format(format_usd(row.usd))


def _state(row: Row, _: bool) -> Markup:
    return cells.shorten(humanize(row.state)) + cells.subtext(row.note)


def _subject_cell(row: Row, _: bool) -> Markup:
    link = Markup('<a href="/{}/{}">{}</a>')
    if row.search_id:
        return link.format("searches", row.search_id, "a search")
    return link.format("places", row.place_id, "a place") if row.place_id else EMPTY_VALUE


LEDGER_TABLE = Table(
    kind="budget/entries",
    title="Ledger",
    noun="entry",
    says="Every request that a provider may bill, recorded before it is sent.",
    listing=LISTING,
    search="",
    segments="state",
    order="asked_at provider sku usd state for",
    cells={"provider": _provider, "sku": _kind, "usd": _costs, "state": _state},
    extra=(TableColumn("for", "For", _subject_cell),),
    nothing=EmptyState(
        "No billable requests yet. Search for businesses; the cost is estimated before the search "
        "starts.",
        "/searches/new",
        "Search for businesses",
    ),
)
