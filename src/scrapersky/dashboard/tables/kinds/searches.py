"""Searches for businesses: what was looked for, how far it has come, what it brought and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.searching.asked import facts_of, what_of
from scrapersky.dashboard.searching.wording import dollars, provider_in_words
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import NOTHING, badge, number
from scrapersky.models import JOB_WORDS, CostEntry, CostState, SearchPlace, Sighted
from scrapersky.places.search_listing import SEARCHES as LISTING

RETRY = "/jobs/retry"
TOLD_APART = ("Website", "Phone", "Rating", "In business")


@dataclass(frozen=True)
class Counted:
    """A search, with what it has brought by now."""

    row: Row
    found: int
    new: int
    usd: Decimal

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def counted(session: AsyncSession, rows: Sequence[Row]) -> list[Counted]:
    """From what is stored: a search that runs has no result yet."""
    ids = [each.id for each in rows]
    places: Any = await session.execute(
        select(
            SearchPlace.search_id,
            func.count(),
            func.count().filter(SearchPlace.sighted == Sighted.NEW),
        )
        .where(SearchPlace.search_id.in_(ids))
        .group_by(SearchPlace.search_id)
    )
    spent: Any = await session.execute(
        select(CostEntry.search_id, func.sum(CostEntry.usd))
        .where(CostEntry.search_id.in_(ids), CostEntry.state != CostState.NOT_BILLED)
        .group_by(CostEntry.search_id)
    )
    brought = {search_id: (found, new) for search_id, found, new in places}
    usd: dict[Any, Decimal] = dict(spent.all())
    return [
        Counted(each, *brought.get(each.id, (0, 0)), usd.get(each.id, Decimal(0))) for each in rows
    ]


_opens = cells.opens("searches", lambda row: what_of(row.params))


def _query(row: Row, may_change: bool) -> Markup:
    facts = facts_of(row.params)
    filters = [f"{name}: {facts[name]}" for name in TOLD_APART if name in facts]
    return _opens(row, may_change) + cells.below("; ".join(filters))


def _provider(row: Row, _: bool) -> Markup:
    return cells.brief(provider_in_words(row.params.get("provider")))


def _status(row: Row, may_change: bool) -> Markup:
    """With how far it is while it runs, and why it waits or failed."""
    share = f" {round(row.progress * 100)} %" if row.status == JOB_WORDS.processing else ""
    said = badge(row.status) + share + cells.below(row.error)
    failed = row.status == JOB_WORDS.failed and may_change
    return said + cells.again(row, RETRY) if failed else said


def _found(row: Row, _: bool) -> Markup:
    new = f"{number(row.new)} new" if row.found else ""
    return Markup("{}").format(number(row.found)) + cells.below(new)


def _cost(row: Row, _: bool) -> Markup:
    return Markup("{}").format(dollars(row.usd)) if row.usd else NOTHING


SEARCHES = Table(
    kind="searches",
    title="Searches",
    noun="search",
    says="Businesses looked for at place providers, and what each search brought.",
    listing=LISTING,
    prepare=counted,
    segments="status",
    begins=True,
    acts=(
        Act("Retry", RETRY, "queued again", key="r", by_filter=False),
        Act("Cancel", "/jobs/cancel", "cancelled", key="c", danger=True, by_filter=False),
    ),
    labels={"created": "Asked for", "finished": "Ended", "has_error": "Has an error"},
    columns=(
        Column("subject", "Looked for", _query, sort="subject"),
        Column("provider", "Provider", _provider),
        Column("status", "State", _status, sort="status"),
        Column("found", "Found", _found, number=True),
        Column("cost", "Cost", _cost, number=True),
        Column("created_at", "Asked for", cells.moment("created_at"), sort="created_at"),
        Column("finished_at", "Ended", cells.moment("finished_at"), sort="finished_at"),
        Column("phase", "Phase", cells.text("phase"), usual=False),
        Column("started_at", "Started", cells.moment("started_at"), usual=False),
    ),
    nothing=Nothing(
        "Begin here: say what you look for and where. Places are found, then their sites, then "
        "whom to write to.",
        "/searches/new",
        "Search for businesses",
    ),
)
