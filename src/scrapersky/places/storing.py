"""Places as a provider tells of them: made once, refreshed when they are met again.

What people decided and how far the deep scan has come is none of the provider's business and
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, cast, func, null, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.models import (
    DEEP_SCAN_WORDS,
    NOT_QUEUED,
    Job,
    Place,
    PlaceCuration,
    SearchPlace,
    Sighted,
)
from scrapersky.models.stage_names import DEEP_SCAN_STAGE
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.places.facts import Changes, place_values, write_facts
from scrapersky.scraper.providers.model import PlaceFacts

ROWS_OF_A_STATEMENT = 500
PUT_ASIDE = (PlaceCuration.NOT_A_FIT, PlaceCuration.ARCHIVED)


@dataclass(frozen=True)
class Owner:
    """The tenant of new places, and the user they are created by."""

    tenant_id: UUID
    created_by: UUID


@dataclass(frozen=True)
class Seen:
    """A place that was met, as it stands now."""

    id: UUID
    place_id: str
    sighted: Sighted
    changes: Changes
    values: Mapping[str, Any]
    """What filters ask for: website_url, phone, rating, business_status, latitude, longitude."""
    has_details: bool


JUDGED = ("website_url", "phone", "rating", "business_status", "latitude", "longitude")


async def upsert_places(
    session: AsyncSession, owner: Owner, facts: Sequence[PlaceFacts], *, search_id: UUID | None
) -> list[Seen]:
    """In the order given, each once; without anybody who was erased."""
    clean = await remove_erased(session, owner.tenant_id, list(facts))
    wanted = {each.place_id: each for each in clean}
    seen: dict[str, Seen] = {}
    for start in range(0, len(wanted), ROWS_OF_A_STATEMENT):
        part = dict(list(wanted.items())[start : start + ROWS_OF_A_STATEMENT])
        # One that somebody else makes at this moment is met in the second round.
        while missing := {key: each for key, each in part.items() if key not in seen}:
            seen |= await _refresh(session, owner, missing)
            new = {key: each for key, each in missing.items() if key not in seen}
            seen |= await _insert(session, owner, new, search_id)
    return [seen[key] for key in wanted]


async def _refresh(
    session: AsyncSession, owner: Owner, wanted: Mapping[str, PlaceFacts]
) -> dict[str, Seen]:
    """In one order for everybody, so that two searches wait for each other and not in a circle."""
    provider = next(iter(wanted.values())).provider
    rows = await session.scalars(
        select(Place)
        .where(*_are(owner, provider, wanted))
        .order_by(Place.place_id)
        .with_for_update()
    )
    return {row.place_id: _met_again(row, wanted[row.place_id]) for row in rows}


def _are(owner: Owner, provider: str, ids: Iterable[str]) -> list[Any]:
    return [
        Place.tenant_id == owner.tenant_id,
        Place.provider == provider,
        Place.place_id == func.any(cast(list(ids), ARRAY(Text))),
    ]


def _met_again(row: Place, facts: PlaceFacts) -> Seen:
    had_details = row.details_at is not None
    changes = write_facts(row, facts)
    return Seen(
        row.id,
        row.place_id,
        Sighted.CHANGED if changes else Sighted.SAME,
        changes,
        {name: getattr(row, name) for name in JUDGED},
        had_details or facts.has_details,
    )


async def _insert(
    session: AsyncSession, owner: Owner, new: Mapping[str, PlaceFacts], search_id: UUID | None
) -> dict[str, Seen]:
    if not new:
        return {}
    rows = [_row(owner, new[key], search_id) for key in sorted(new)]
    made = await session.execute(
        insert(Place)
        .values(rows)
        .on_conflict_do_nothing(index_elements=[Place.tenant_id, Place.provider, Place.place_id])
        .returning(Place.place_id, Place.id)
    )
    by_key = {row["place_id"]: row for row in rows}
    return {
        key: Seen(
            row_id,
            key,
            Sighted.NEW,
            {},
            {name: by_key[key][name] for name in JUDGED},
            new[key].has_details,
        )
        for key, row_id in made
    }


def _row(owner: Owner, facts: PlaceFacts, search_id: UUID | None) -> dict[str, Any]:
    said = {**_NOTHING_SAID, **place_values(facts)}
    return {
        **said,
        "hours": null() if said["hours"] is None else said["hours"],
        "id": uuid7(),
        "tenant_id": owner.tenant_id,
        "created_by": owner.created_by,
        "provider": facts.provider,
        "place_id": facts.place_id,
        "search_id": search_id,
        "details_at": func.now() if facts.has_details else None,
    }


_NOTHING_SAID = place_values(PlaceFacts("", "", has_details=True))


@dataclass(frozen=True)
class Link:
    """A place in a search's result."""

    seen: Seen
    position: int
    fits: bool


async def link(session: AsyncSession, job: Job, tile: str, links: Sequence[Link]) -> list[Link]:
    """Those that the search had not found before; what was noted first stays."""
    if not links:
        return []
    rows = [
        {
            "search_id": job.id,
            "tenant_id": job.tenant_id,
            "place_id": each.seen.id,
            "position": each.position,
            "tile": tile,
            "fits": each.fits,
            "sighted": each.seen.sighted,
            "changes": each.seen.changes,
        }
        for each in sorted(links, key=lambda each: each.seen.id)
    ]
    made = await session.scalars(
        insert(SearchPlace).values(rows).on_conflict_do_nothing().returning(SearchPlace.place_id)
    )
    new = set(made)
    return [each for each in links if each.seen.id in new]


async def known_places(
    session: AsyncSession, owner: Owner, provider: str, ids: Sequence[str]
) -> list[Seen]:
    """Places that were not asked for because they are known, in the order given."""
    found = await session.scalars(
        update(Place)
        .where(*_are(owner, provider, ids))
        .values(seen_at=func.now(), gone_at=None)
        .returning(Place)
        .execution_options(synchronize_session=False)
    )
    rows = {row.place_id: row for row in found}
    return [
        Seen(
            row.id,
            row.place_id,
            Sighted.SAME,
            {},
            {name: getattr(row, name) for name in JUDGED},
            row.details_at is not None,
        )
        for row in (rows[each] for each in ids if each in rows)
    ]


async def send_on(
    session: AsyncSession, seen: Sequence[Seen], *, without_details: bool
) -> set[UUID]:
    """To the deep scan: those that never went, and those of which something else is known now.
    What people put aside stays there."""
    ready = [each for each in seen if each.has_details or without_details]
    if not ready:
        return set()
    words = DEEP_SCAN_WORDS
    changed = [each.id for each in ready if each.sighted is Sighted.CHANGED]
    queued = await session.scalars(
        update(Place)
        .where(
            Place.id == func.any(cast([each.id for each in ready], ARRAY(Uuid))),
            Place.status.not_in(PUT_ASIDE),
            or_(
                Place.deep_scan_status == NOT_QUEUED,
                and_(
                    Place.deep_scan_status.in_([words.done, words.failed]),
                    Place.id == func.any(cast(changed, ARRAY(Uuid))),
                ),
            ),
        )
        .values(
            deep_scan_status=words.queued,
            deep_scan_due_at=func.now(),
            deep_scan_attempts=0,
            deep_scan_error=None,
        )
        .returning(Place.id)
        .execution_options(synchronize_session=False)
    )
    begun = set(queued)
    if begun:
        wake_after_commit(session, DEEP_SCAN_STAGE)
    return begun
