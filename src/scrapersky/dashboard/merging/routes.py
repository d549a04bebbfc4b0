"""One pair at a time, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.business_words import matched_in_words
from scrapersky.dashboard.details.deciding import rights
from scrapersky.dashboard.merging.comparing import apart_by, lines_of
from scrapersky.dashboard.merging.queueing import Turn, turn_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.dashboard.searching.wording import provider_in_words
from scrapersky.entities.joining import UNDECIDED
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import BusinessSighting, LocalBusiness, Provider

router = APIRouter(route_class=PageRoute)

SIGHTINGS_SHOWN = 8


@dataclass(frozen=True)
class Side:
    """One of the two, as the page shows it."""

    name: str
    """`left` or `right`, as the API calls it."""
    key: str
    business: LocalBusiness
    sightings: Sequence[BusinessSighting]

    @property
    def only_sighting(self) -> UUID | None:
        """By which a merger can be taken back: what one told us of is split off again."""
        return self.sightings[0].id if len(self.sightings) == 1 else None


@router.get("/merge-review")
async def merge_review(
    actor: Viewer, session: Reading, show: Showing, id: Annotated[UUID | None, Query()] = None
) -> HTMLResponse:
    turn = await turn_of(session, actor, id)
    shown = await _pair(session, turn) if turn else {}
    is_gone = turn is not None and id is not None and turn.question.id != id
    return show.page(
        "merging/review.html",
        title="Merge review",
        turn=turn,
        is_gone=is_gone,
        **shown,
        **rights(actor),
    )


async def _pair(session: AsyncSession, turn: Turn) -> dict[str, Any]:
    ids = (turn.question.left_id, turn.question.right_id)
    found = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    known = {each.id: each for each in found}
    left, right = (known[each] for each in ids)
    told = await _sightings(session, ids)
    return {
        "sides": (
            Side("left", "1", left, told[left.id]),
            Side("right", "2", right, told[right.id]),
        ),
        "suggested": suggested(left, right),
        "lines": tuple(lines_of(left, right)),
        "distance": apart_by(left, right),
        "is_osm": any(each.provider == Provider.OSM for one in told.values() for each in one),
        "provider": provider_in_words,
        "matched": matched_in_words,
        "sightings_shown": SIGHTINGS_SHOWN,
    }


def suggested(left: LocalBusiness, right: LocalBusiness) -> str:
    """The one that somebody decided about; else the older, which stands left."""
    is_undecided = left.status in UNDECIDED and right.status not in UNDECIDED
    return "right" if is_undecided else "left"


async def _sightings(
    session: AsyncSession, businesses: Sequence[UUID]
) -> dict[UUID, list[BusinessSighting]]:
    found = await session.scalars(
        select(BusinessSighting)
        .where(BusinessSighting.business_id.in_(businesses))
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
    )
    told: dict[UUID, list[BusinessSighting]] = {each: [] for each in businesses}
    for each in found:
        told[each.business_id].append(each)
    return told
