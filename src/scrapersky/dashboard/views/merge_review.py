"""The table of merge candidates and the side-by-side merge review."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.listing import MERGE_CANDIDATES as LISTING
from scrapersky.businesses.merge import UNDECIDED_STATUSES
from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import get_permissions
from scrapersky.dashboard.formats import EMPTY_VALUE, format_time, humanize
from scrapersky.dashboard.labels import describe_match, get_provider_label
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    Actor,
    BusinessSighting,
    LocalBusiness,
    MergeCandidate,
    MergeState,
    Provider,
)
from scrapersky.scraper.providers.geography import distance_m

SAME, DIFFERS, ONE_SIDED = "same", "differs", "only one"
MARKS = {SAME: "=", DIFFERS: "≠", ONE_SIDED: "·"}
"""Symbols shown with the words; colour is never the only signal."""


@dataclass(frozen=True)
class ComparisonLine:
    """One fact of both businesses."""

    label: str
    left: str | None
    right: str | None
    is_link: bool = False

    @property
    def verdict(self) -> str:
        if not self.left or not self.right:
            return ONE_SIDED
        return SAME if _normalize(self.left) == _normalize(self.right) else DIFFERS

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    @property
    def tone(self) -> str:
        return {SAME: "good", DIFFERS: "bad"}.get(self.verdict, "plain")


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


def _format_kinds(business: LocalBusiness) -> str:
    return humanize(", ".join(business.categories[:6]))


def _format_rating(business: LocalBusiness) -> str | None:
    if business.rating is None:
        return None
    return f"{business.rating:.1f} ({business.reviews_count or 0:,} reviews)"


COMPARED_FACTS: tuple[tuple[str, Callable[[LocalBusiness], Any]], ...] = (
    ("Name", lambda each: each.business_name),
    ("Categories", _format_kinds),
    ("Address", lambda each: each.address),
    ("Phone", lambda each: each.phone or each.phone_raw),
    ("Website", lambda each: each.website_url),
    ("Site", lambda each: each.site_key),
    ("E-mails", lambda each: ", ".join(each.emails[:3])),
    ("Rating", _format_rating),
    ("In business", lambda each: humanize(each.business_status)),
)
LINKED_FACTS = frozenset({"Website"})


def build_comparison(left: LocalBusiness, right: LocalBusiness) -> Iterator[ComparisonLine]:
    """Compare both businesses; facts that neither has are omitted."""
    for label, read in COMPARED_FACTS:
        line = ComparisonLine(label, read(left) or None, read(right) or None, label in LINKED_FACTS)
        if line.left or line.right:
            yield line


def format_distance(left: LocalBusiness, right: LocalBusiness) -> str:
    """Return `40 m`; empty if one of them has no coordinates."""
    points = [(each.latitude, each.longitude) for each in (left, right)]
    known = [(lat, lng) for lat, lng in points if lat is not None and lng is not None]
    if len(known) < len(points):
        return ""
    metres = distance_m(*known)
    return f"{metres:,.0f} m" if metres < 1_000 else f"{metres / 1_000:,.1f} km"


@dataclass(frozen=True)
class ReviewPosition:
    """A pair and its neighbours in the queue."""

    question: MergeCandidate
    position: int
    total: int
    before: UUID | None
    following: UUID | None


def _build_open_query(actor: Actor) -> Select[MergeCandidate]:
    return select(MergeCandidate).where(
        MergeCandidate.tenant_id == actor.tenant_id, MergeCandidate.state == MergeState.OPEN
    )


async def load_review_position(
    session: AsyncSession, actor: Actor, candidate_id: UUID | None
) -> ReviewPosition | None:
    """Return the requested pair, or the first pending one if it is no longer pending; None if the
    queue is empty.
    """
    question = await _choose_candidate(session, actor, candidate_id)
    if question is None:
        return None
    return await _build_review_position(session, actor, question)


async def _choose_candidate(
    session: AsyncSession, actor: Actor, candidate_id: UUID | None
) -> MergeCandidate | None:
    order = [MergeCandidate.score.desc(), MergeCandidate.id]
    if candidate_id is not None:
        order.insert(0, (MergeCandidate.id == candidate_id).desc())
    merge_candidate: MergeCandidate | None = await session.scalar(
        _build_open_query(actor).order_by(*order).limit(1)
    )
    return merge_candidate


async def _build_review_position(
    session: AsyncSession, actor: Actor, question: MergeCandidate
) -> ReviewPosition:
    earlier, later = _ranks_before(question), _ranks_after(question)
    there = _build_open_query(actor)
    previous = _build_first_query(
        there.where(earlier), MergeCandidate.score, MergeCandidate.id.desc()
    )
    following = _build_first_query(
        there.where(later), MergeCandidate.score.desc(), MergeCandidate.id
    )
    counted = select(
        func.count(),
        func.count().filter(earlier),
        previous.scalar_subquery(),
        following.scalar_subquery(),
    ).where(MergeCandidate.tenant_id == actor.tenant_id, MergeCandidate.state == MergeState.OPEN)
    total, ahead, before, after = (await session.execute(counted)).one()
    return ReviewPosition(question, ahead + 1, total, before, after)


def _build_first_query(statement: Select[MergeCandidate], *order: Any) -> Select[UUID]:
    return statement.with_only_columns(MergeCandidate.id).order_by(*order).limit(1)


def _ranks_before(question: MergeCandidate) -> ColumnElement[bool]:
    score, key = MergeCandidate.score, MergeCandidate.id
    return or_(score > question.score, and_(score == question.score, key < question.id))


def _ranks_after(question: MergeCandidate) -> ColumnElement[bool]:
    score, key = MergeCandidate.score, MergeCandidate.id
    return or_(score < question.score, and_(score == question.score, key > question.id))


router = APIRouter(route_class=PageRoute)

MAX_SIGHTINGS = 8


@dataclass(frozen=True)
class ReviewSide:
    """One of the two businesses."""

    name: str
    """`left` or `right`, as in the API."""
    key: str
    business: LocalBusiness
    sightings: Sequence[BusinessSighting]

    @property
    def only_sighting(self) -> UUID | None:
        """The single sighting of this side, if any: a merge can be undone by splitting it off
        again.
        """
        return self.sightings[0].id if len(self.sightings) == 1 else None


@router.get("/merge-review")
async def merge_review(
    actor: Viewer, session: Reading, show: Renderer, id: Annotated[UUID | None, Query()] = None
) -> HTMLResponse:
    position = await load_review_position(session, actor, id)
    values = await _load_pair(session, position) if position else {}
    is_gone = position is not None and id is not None and position.question.id != id
    return show.page(
        "merging/review.html",
        title="Merge review",
        turn=position,
        is_gone=is_gone,
        **values,
        **get_permissions(actor),
    )


async def _load_pair(session: AsyncSession, position: ReviewPosition) -> dict[str, Any]:
    ids = (position.question.left_id, position.question.right_id)
    rows = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    known = {each.id: each for each in rows}
    left, right = (known[each] for each in ids)
    sightings = await _list_sightings(session, ids)
    return {
        "sides": (
            ReviewSide("left", "1", left, sightings[left.id]),
            ReviewSide("right", "2", right, sightings[right.id]),
        ),
        "suggested": suggest_survivor(left, right),
        "lines": tuple(build_comparison(left, right)),
        "distance": format_distance(left, right),
        "is_osm": any(each.provider == Provider.OSM for one in sightings.values() for each in one),
        "provider": get_provider_label,
        "matched": describe_match,
        "sightings_shown": MAX_SIGHTINGS,
    }


def suggest_survivor(left: LocalBusiness, right: LocalBusiness) -> str:
    """Return the side with a curation decision, else the older one, which is on the left."""
    is_undecided = left.status in UNDECIDED_STATUSES and right.status not in UNDECIDED_STATUSES
    return "right" if is_undecided else "left"


async def _list_sightings(
    session: AsyncSession, businesses: Sequence[UUID]
) -> dict[UUID, list[BusinessSighting]]:
    rows = await session.scalars(
        select(BusinessSighting)
        .where(BusinessSighting.business_id.in_(businesses))
        .order_by(BusinessSighting.first_seen_at, BusinessSighting.id)
    )
    by_business: dict[UUID, list[BusinessSighting]] = {each: [] for each in businesses}
    for each in rows:
        by_business[each.business_id].append(each)
    return by_business


@dataclass(frozen=True)
class CandidatePair:
    """A merge candidate with both businesses."""

    row: Row
    left: LocalBusiness | None
    right: LocalBusiness | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _load_pairs(session: AsyncSession, rows: Sequence[Row]) -> list[CandidatePair]:
    ids = {side for each in rows for side in (each.left_id, each.right_id)}
    found_rows = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    known: dict[UUID, LocalBusiness] = {each.id: each for each in found_rows}
    return [CandidatePair(each, known.get(each.left_id), known.get(each.right_id)) for each in rows]


def _business_cell(business: LocalBusiness | None) -> Markup:
    if business is None:
        return EMPTY_VALUE
    link = Markup('<a href="/local-businesses/{}">{}</a>')
    name = cells.shorten(business.business_name or "Unnamed", 60)
    return link.format(business.id, name) + cells.subtext(business.address)


def _left_cell(row: Row, _: bool) -> Markup:
    return _business_cell(row.left)


def _right_cell(row: Row, _: bool) -> Markup:
    return _business_cell(row.right)


def _compare_cell(row: Row, may_change: bool) -> Markup:
    if row.state == MergeState.APART and may_change:
        return (
            format_time(row.decided_at)
            + Markup(" ")
            + cells.row_button(row, _build_reopen_button(row))
        )
    if row.state != MergeState.OPEN:
        return format_time(row.decided_at)
    return Markup('<a id="open-{}" data-open href="/merge-review?id={}">Compare</a>').format(
        row.id, row.id
    )


def _build_reopen_button(row: Row) -> cells.RowButton:
    return cells.RowButton(
        label="Reopen",
        method="POST",
        path=f"/merge-candidates/{row.id}/reopen",
        asks="Reopen this pair? It returns to merge review.",
        done="Pair reopened",
    )


def _score_cell(row: Row, _: bool) -> Markup:
    return Markup("{} %").format(round(row.score * 100))


def _reasons_cell(row: Row, _: bool) -> Markup:
    return cells.subtext(" ".join(row.reasons[:5]))


MERGE_CANDIDATES_TABLE = Table(
    kind="merge-candidates",
    title="Possible duplicates",
    noun="pair",
    says="Pairs of businesses that may be the same. Merge review compares them side by side.",
    listing=LISTING,
    search="",
    segments="state",
    prepare=_load_pairs,
    labels={"min_score": "Minimum confidence (0–1)", "business_id": "Business"},
    order="compare left right score reasons",
    cells={"score": _score_cell},
    extra=(
        TableColumn("compare", "Compare", _compare_cell),
        TableColumn("left", "Left", _left_cell),
        TableColumn("right", "Right", _right_cell),
        TableColumn("reasons", "Reasons", _reasons_cell),
    ),
    nothing=EmptyState("No possible duplicates. Certain duplicates are merged automatically."),
)
