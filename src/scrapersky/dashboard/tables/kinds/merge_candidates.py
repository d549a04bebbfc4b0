"""Pairs of businesses that may be one, or were decided about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.merge_listing import MERGE_CANDIDATES as LISTING
from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Column, Nothing, Row, Table
from scrapersky.dashboard.wording import NOTHING, moment
from scrapersky.models import LocalBusiness, MergeState


@dataclass(frozen=True)
class Pair:
    """A question with both of its businesses."""

    row: Row
    left: LocalBusiness | None
    right: LocalBusiness | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def _with_both(session: AsyncSession, rows: Sequence[Row]) -> list[Pair]:
    ids = {side for each in rows for side in (each.left_id, each.right_id)}
    found = await session.scalars(select(LocalBusiness).where(LocalBusiness.id.in_(ids)))
    known: dict[UUID, LocalBusiness] = {each.id: each for each in found}
    return [Pair(each, known.get(each.left_id), known.get(each.right_id)) for each in rows]


def _shown(business: LocalBusiness | None) -> Markup:
    if business is None:
        return NOTHING
    link = Markup('<a href="/local-businesses/{}">{}</a>')
    name = cells.brief(business.business_name or "without a name", 60)
    return link.format(business.id, name) + cells.below(business.address)


def _left(row: Row, _: bool) -> Markup:
    return _shown(row.left)


def _right(row: Row, _: bool) -> Markup:
    return _shown(row.right)


def _compare(row: Row, may_change: bool) -> Markup:
    if row.state == MergeState.APART and may_change:
        return moment(row.decided_at) + Markup(" ") + cells.row_act(row, _reopening(row))
    if row.state != MergeState.OPEN:
        return moment(row.decided_at)
    return Markup('<a id="open-{}" data-open href="/merge-review?id={}">Compare</a>').format(
        row.id, row.id
    )


def _reopening(row: Row) -> cells.RowAct:
    return cells.RowAct(
        label="Ask again",
        method="POST",
        path=f"/merge-candidates/{row.id}/reopen",
        asks="Ask again whether these two are one? They are kept apart no longer.",
        done="The pair waits in merge review again.",
    )


def _score(row: Row, _: bool) -> Markup:
    return Markup("{} %").format(round(row.score * 100))


def _reasons(row: Row, _: bool) -> Markup:
    return cells.below(" ".join(row.reasons[:5]))


MERGE_CANDIDATES = Table(
    kind="merge-candidates",
    title="Possible doubles",
    noun="pair",
    says="Pairs of businesses that may be one. Merge review shows them side by side.",
    listing=LISTING,
    search="",
    segments="state",
    prepare=_with_both,
    labels={
        "min_score": "As sure as (0 to 1)",
        "created": "Noticed",
        "business_id": "Business",
    },
    columns=(
        Column("compare", "Decide", _compare),
        Column("left", "Left", _left),
        Column("right", "Right", _right),
        Column("score", "How sure", _score, sort="score", number=True),
        Column("reasons", "Why", _reasons),
        Column("state", "State", cells.badge("state"), usual=False),
        Column("created_at", "Noticed", cells.moment("created_at"), sort="created_at"),
    ),
    nothing=Nothing(
        "No two businesses are alike enough to ask about. What is surely the same is merged by "
        "itself."
    ),
)
