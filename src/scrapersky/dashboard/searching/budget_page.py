"""The page about money: what was spent this month, what is free, what may still be asked today."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.details.deciding import rights
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.wording import dollars, method_in_words, sku_in_words
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Overview, Reading
from scrapersky.http.lists import Asked
from scrapersky.places.budget import budget_of, get_installation_budget
from scrapersky.places.budget_listing import ENTRIES
from scrapersky.places.budget_schemas import BudgetOut

router = APIRouter(route_class=PageRoute)

ENTRIES_SHOWN = 20
SHORT = 0.8
"""From this share of the cap on it is told in another colour."""


@dataclass(frozen=True)
class Spent:
    """Of the month's cap."""

    share: float
    """0 to 1; all of it where there is nothing to spend."""
    tone: str

    @property
    def percent(self) -> int:
        """Not 100 before it is all gone."""
        return 100 if self.share >= 1 else min(round(self.share * 100), 99)


def spent_of(budget: BudgetOut) -> Spent:
    cap, spent = budget.monthly_cap_usd, budget.spent_usd
    if not cap:
        return Spent(1.0 if spent else 0.0, "poor")
    share = float(min(spent / cap, Decimal(1)))
    return Spent(share, "bad" if share >= 1 else "poor" if share >= SHORT else "good")


@router.get("/budget")
async def budget_page(
    actor: Viewer, session: Reading, overview: Overview, show: Showing
) -> HTMLResponse:
    settings = show.context.settings
    budget = await budget_of(session, actor, settings)
    installation = await get_installation_budget(overview, settings) if actor.is_operator else None
    ledger = await ENTRIES.show(session, actor, Asked(limit=ENTRIES_SHOWN))
    return show.page(
        "searching/budget.html",
        title="Budget",
        budget=budget,
        spent=spent_of(budget),
        installation=installation,
        entries=ledger.rows,
        has_more=ledger.next_cursor is not None,
        has_key=bool(settings.google_places_api_key),
        dollars=dollars,
        sku_in_words=sku_in_words,
        method_in_words=method_in_words,
        **rights(actor),
    )
