"""Store what a deep scan came to: the ledger's part, the place, and the business it is."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.entities.sightings import note_place
from scrapersky.harvest.erasure_filter import remove_erased
from scrapersky.models import DEEP_SCAN_WORDS, Place, get_system_user_id
from scrapersky.pipeline.stage import AtOnce
from scrapersky.places.facts import write_facts
from scrapersky.places.governor import Charge, Settlement, reserve, settle_charge
from scrapersky.places.governor_refusals import Refusal, store_refusal
from scrapersky.scraper.providers.model import PlaceFacts


@dataclass(frozen=True)
class Known:
    """There was nothing to ask; what is known becomes a business."""

    extract: bool
    """Whether its website is to become a domain by itself."""


@dataclass(frozen=True)
class Details:
    """What the provider told."""

    entry_id: UUID
    facts: PlaceFacts
    moved: PlaceFacts | None
    """The place that it is now, where it moved."""
    extract: bool


class Gone(AtOnce):
    """The provider knows the place no more."""


@dataclass(frozen=True)
class Done:
    """Everything is stored; what is left is the row's own end."""


Result = Charge | Settlement | Refusal | Gone | Known | Details | Done


async def store(session: AsyncSession, place: Place, result: Result) -> None:
    if isinstance(result, Charge):
        await reserve(session, place.tenant_id, result)
    elif isinstance(result, Settlement):
        await settle_charge(session, result.entry_id, billed=result.billed, note=result.note)
    elif isinstance(result, Refusal):
        await store_refusal(session, result)
    elif isinstance(result, Gone):
        await _note_gone(session, place)
    elif isinstance(result, Known):
        await note_place(session, place, extract=result.extract)
    elif isinstance(result, Details):
        await _store_details(session, place, result)


async def _note_gone(session: AsyncSession, place: Place) -> None:
    """The place stays, and its business is not closed by it: ids go out of use when places are put
    together, and that says nothing of whether the business is there. What others say of it counts
    more from now on."""
    place.gone_at = func.now()
    if place.local_business_id is not None:
        await note_place(session, place)


async def _store_details(session: AsyncSession, place: Place, told: Details) -> None:
    told = await remove_erased(session, place.tenant_id, told)
    await settle_charge(session, told.entry_id, billed=True)
    write_facts(place, told.facts)
    now_at = await _place_now(session, place, told.moved) if told.moved is not None else None
    await note_place(session, place, extract=told.extract and now_at is None)
    if now_at is not None:
        await note_place(session, now_at, extract=told.extract)


async def _place_now(session: AsyncSession, place: Place, facts: PlaceFacts) -> Place:
    """The row of where it moved to, locked before any business is: everybody does so. A new one is
    decided about as the old one was, for it is the same business; its scan is this one."""
    await session.execute(
        insert(Place)
        .values(
            id=uuid7(),
            tenant_id=place.tenant_id,
            created_by=get_system_user_id(session),
            provider=facts.provider,
            place_id=facts.place_id,
            search_id=place.search_id,
            status=place.status,
            deep_scan_status=DEEP_SCAN_WORDS.done,
        )
        .on_conflict_do_nothing()
    )
    found = await session.scalar(
        select(Place)
        .where(
            Place.tenant_id == place.tenant_id,
            Place.provider == facts.provider,
            Place.place_id == facts.place_id,
        )
        .with_for_update()
    )
    assert found is not None, "it was there or has been made"
    write_facts(found, facts)
    return found
