"""Compute how much of its area a search covered, and its totals."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import (
    CostEntry,
    CostState,
    Job,
    PlaceSightingState,
    SearchPlace,
    SearchTile,
    TileState,
)
from scrapersky.plurals import pluralise

ATTRIBUTION_KEY = "attribution"
SUPERSEDED_STATES = (TileState.SPLIT, TileState.JOINED)
"""States of tiles that were replaced by other tiles."""


@dataclass(frozen=True)
class SearchCoverage:
    """Counts of a search's tiles and places."""

    tiles: dict[str, int]
    """Tile counts by state, including tiles that were split."""
    noted: int
    """Tiles with a note about missing results."""
    found: int
    new: int
    changed: int
    fits: int
    requests: int
    paid_requests: int
    cost_usd: Decimal

    @property
    def parts(self) -> int:
        """Number of final tiles, without the ones that were replaced."""
        return sum(self.tiles.values()) - sum(self._count(each) for each in SUPERSEDED_STATES)

    @property
    def is_complete(self) -> bool:
        done = self._count(TileState.DONE) + self._count(TileState.KNOWN)
        return bool(self.parts) and self.parts == done and not self.noted

    def _count(self, state: TileState) -> int:
        return self.tiles.get(state, 0)

    @property
    def sentence(self) -> str:
        if not self.parts:
            return "No requests yet."
        if self.is_complete:
            places, parts = _format_count(self.found, "place"), _format_count(self.parts, "part")
            return f"The whole area is covered: {places} in {parts}."
        return f"The area is partly covered: {'; '.join(self._list_gaps())}."

    def _list_gaps(self) -> list[str]:
        notes = {
            TileState.WAITING: "still pending",
            TileState.SATURATED: "with more places than were returned",
            TileState.NOT_ASKED: "not requested",
        }
        gaps = [
            f"{_format_count(self._count(state), 'part')} {words}"
            for state, words in notes.items()
            if self._count(state)
        ]
        return gaps or [f"{_format_count(self.noted, 'part')} incomplete"]


def _format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else pluralise(noun)}"


async def load_coverage(session: AsyncSession, job: Job) -> SearchCoverage:
    tiles = await session.execute(
        select(
            SearchTile.state,
            func.count(),
            func.count(SearchTile.note),
            func.sum(SearchTile.requests),
            func.sum(SearchTile.paid_requests),
        )
        .where(SearchTile.search_id == job.id)
        .group_by(SearchTile.state)
    )
    rows = tiles.all()
    counts = await _count_places(session, job)
    return SearchCoverage(
        tiles={state: count for state, count, *_ in rows},
        noted=sum(notes for _, _, notes, *_ in rows),
        requests=sum(requests for *_, requests, _ in rows),
        paid_requests=sum(paid for *_, paid in rows),
        cost_usd=await sum_cost(session, job),
        **counts,
    )


async def _count_places(session: AsyncSession, job: Job) -> dict[str, int]:
    row = await session.execute(
        select(
            func.count(),
            func.count().filter(SearchPlace.sighted == PlaceSightingState.NEW),
            func.count().filter(SearchPlace.sighted == PlaceSightingState.CHANGED),
            func.count().filter(SearchPlace.fits),
        ).where(SearchPlace.search_id == job.id)
    )
    return dict(zip(("found", "new", "changed", "fits"), row.one(), strict=True))


async def sum_cost(session: AsyncSession, job: Job) -> Decimal:
    """Sum the search's charges. Unsettled ones count as billed."""
    spent = await session.scalar(
        select(func.sum(CostEntry.usd)).where(
            CostEntry.search_id == job.id, CostEntry.state != CostState.NOT_BILLED
        )
    )
    return spent or Decimal(0)


async def build_result(session: AsyncSession, job: Job) -> dict[str, Any]:
    """Build the job's result."""
    coverage = await load_coverage(session, job)
    result = {"attribution": (job.result_data or {}).get(ATTRIBUTION_KEY)}
    return {
        "found": coverage.found,
        "new": coverage.new,
        "changed": coverage.changed,
        "fits": coverage.fits,
        "tiles": coverage.tiles,
        "requests": coverage.requests,
        "paid_requests": coverage.paid_requests,
        "cost_usd": float(coverage.cost_usd),
        "covered": coverage.is_complete,
        "coverage": coverage.sentence,
        **{name: value for name, value in result.items() if value},
    }
