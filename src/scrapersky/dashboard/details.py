"""Parts shared by detail pages: decisions, permissions, events, dead letters and provenance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, Parts, RenderView
from scrapersky.dashboard.rendering import render
from scrapersky.errors import NotFound
from scrapersky.lists import Curation
from scrapersky.models import (
    Actor,
    BusinessSighting,
    Job,
    LocalBusiness,
    Place,
    Provider,
    Role,
    SearchPlace,
    User,
)
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState, StageEvent

DECISION_KEYS = {
    "Selected": "s",
    "Maybe": "m",
    "Not a Fit": "n",
    "Skipped": "n",
    "Archived": "a",
    "New": "",
}
"""Statuses that people can set, with their keyboard shortcuts. All others are set by stages."""


@dataclass(frozen=True)
class DecisionChoice:
    word: str
    key: str
    """Empty if there is no shortcut."""
    chosen: bool


@dataclass(frozen=True)
class DecisionForm:
    """The curation choices for one row and where they are submitted."""

    rows: str
    """Name of the list in dashboard and API paths."""
    row_id: UUID
    status: str
    choices: tuple[DecisionChoice, ...]
    queues: bool
    """Whether selecting the row queues its next stage."""


def build_decision_form(curation: Curation, row: Any) -> DecisionForm:
    status: str = getattr(row, curation.column.key)
    choices = tuple(
        DecisionChoice(word, key, word == status)
        for word, key in DECISION_KEYS.items()
        if word in curation.decisions
    )
    return DecisionForm(curation.rows, row.id, status, choices, curation.queues is not None)


def get_permissions(actor: Actor) -> dict[str, bool]:
    """Return the permissions for templates, which hide actions that are not allowed."""
    return {
        "may_curate": actor.role.includes(Role.CURATOR),
        "may_admin": actor.role.includes(Role.ADMIN),
    }


MAX_EVENTS = 15


async def list_events(session: AsyncSession, stage: str, row_id: UUID) -> Sequence[StageEvent]:
    """Return events of a row, newest first. The caller has checked access to the row."""
    rows = await session.scalars(
        select(StageEvent)
        .where(StageEvent.row_id == row_id, StageEvent.stage == stage)
        .order_by(StageEvent.id.desc())
        .limit(MAX_EVENTS)
    )
    return rows.all()


async def find_open_dead_letter(session: AsyncSession, stage: str, row_id: UUID) -> UUID | None:
    open_dead_letter: UUID | None = await session.scalar(
        select(DeadLetter.id).where(
            DeadLetter.stage == stage,
            DeadLetter.row_id == row_id,
            DeadLetter.state == DeadLetterState.OPEN,
        )
    )
    return open_dead_letter


async def get_user_names(session: AsyncSession, people: Collection[UUID | None]) -> dict[UUID, str]:
    ids = [each for each in set(people) if each is not None]
    if not ids:
        return {}
    result = await session.execute(select(User.id, User.name).where(User.id.in_(ids)))
    return dict(result.all())


def handle_deleted_row(parts: RenderView, head: str) -> RenderView:
    """Replace the page's head with a notice when the row is deleted while the page is open."""

    async def parts_or_gone(live: LiveContext) -> Parts:
        try:
            return await parts(live)
        except NotFound:
            return {head: render("details/gone.html", {})}

    return parts_or_gone


def parse_subject_id(live: LiveContext) -> UUID:
    """Parse the id of the row that the page shows."""
    try:
        return UUID(live.subject)
    except ValueError:
        raise NotFound("This stream has no row id.") from None


def is_unchanged(live: LiveContext, stamp: Any) -> bool:
    """Return whether the stamp equals that of the previous poll; False for the first poll."""
    state = live.show.request.state
    before = getattr(state, "seen_before", None)
    state.seen_before = stamp
    return bool(before == stamp)


MAX_ORIGINS = 5
MAX_SEARCHES_PER_PLACE = 3
MAX_ORIGIN_ROWS = 300


@dataclass
class ProviderSighting:
    """A provider's record of a business, and the searches that found it."""

    sighting: BusinessSighting
    place: Place | None
    searches: list[Job] = field(default_factory=list)

    @property
    def shown(self) -> list[Job]:
        return self.searches[:MAX_SEARCHES_PER_PLACE]


@dataclass
class BusinessOrigin:
    business: LocalBusiness
    told: dict[UUID, ProviderSighting] = field(default_factory=dict)

    @property
    def is_osm(self) -> bool:
        """OpenStreetMap data requires attribution."""
        return any(each.sighting.provider == Provider.OSM for each in self.told.values())

    @property
    def place_sightings(self) -> list[ProviderSighting]:
        return [each for each in self.told.values() if each.place is not None]


async def load_origins(
    session: AsyncSession, domain_id: UUID | None, business_id: UUID | None = None
) -> list[BusinessOrigin]:
    """Load the businesses of a site, most reviewed first, or the business without a site."""
    mine = LocalBusiness.id == business_id
    if domain_id is not None:
        mine = LocalBusiness.domain_id == domain_id
    return _group_origins((await session.execute(_build_origins_query(mine))).all())


def _build_origins_query(mine: ColumnElement[bool]) -> Select[Any, Any, Any, Any]:
    return (
        select(LocalBusiness, BusinessSighting, Place, Job)
        .outerjoin(BusinessSighting, BusinessSighting.business_id == LocalBusiness.id)
        .outerjoin(Place, Place.id == BusinessSighting.place_id)
        .outerjoin(SearchPlace, SearchPlace.place_id == Place.id)
        .outerjoin(Job, Job.id == SearchPlace.search_id)
        .where(mine)
        .order_by(
            LocalBusiness.reviews_count.desc().nulls_last(),
            LocalBusiness.id,
            BusinessSighting.first_seen_at,
            Job.created_at,
        )
        .limit(MAX_ORIGIN_ROWS)
    )


def _group_origins(rows: Sequence[Any]) -> list[BusinessOrigin]:
    by_business: dict[UUID, BusinessOrigin] = {}
    for business, sighting, place, job in rows:
        origin = by_business.setdefault(business.id, BusinessOrigin(business))
        if sighting is None:
            continue
        provider = origin.told.setdefault(sighting.id, ProviderSighting(sighting, place))
        if job is not None:
            provider.searches.append(job)
    return list(by_business.values())
