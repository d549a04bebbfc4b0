"""Stage: fetch a place's details, unless they are known, and resolve its business.

The price of a request is reserved before it is sent (`budget/charges.py`). A place whose details
came with its search costs nothing here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.businesses.resolution import resolve_place
from scrapersky.contacts.erasure_filter import remove_erased
from scrapersky.db.base import uuid7
from scrapersky.errors import Rejected, Skipped
from scrapersky.models import DEEP_SCAN_STATUSES, Job, Place, Provider, get_system_user_id
from scrapersky.models.stage_names import DEEP_SCAN_STAGE, EXTRACTION_STAGE
from scrapersky.pipeline.stage import Stage, StoreImmediately, Tools
from scrapersky.places.budget.charges import (
    Charge,
    ChargeRefusal,
    ChargeSettlement,
    build_refusal,
    classify_failure,
    get_default_cap,
    get_default_installation_cap,
    reserve_charge,
    settle_charge,
    store_refusal,
)
from scrapersky.places.store import write_facts
from scrapersky.scraper.providers.errors import PlaceGone, ProviderFailed
from scrapersky.scraper.providers.google import DETAILS_FULL, GooglePlaces
from scrapersky.scraper.providers.model import PlaceFacts
from scrapersky.settings import Pace, Settings


@dataclass(frozen=True)
class DetailsKnown:
    """The details are fresh: only the business is resolved."""

    extract: bool
    """Whether to queue domain extraction for its website."""


@dataclass(frozen=True)
class DetailsFetched:
    """The details that the provider returned."""

    entry_id: UUID
    facts: PlaceFacts
    moved: PlaceFacts | None
    """The place that it moved to, if any."""
    extract: bool


class PlaceRemoved(StoreImmediately):
    """The provider no longer has the place."""


DeepScanResult = (
    Charge | ChargeSettlement | ChargeRefusal | PlaceRemoved | DetailsKnown | DetailsFetched
)


async def store(session: AsyncSession, place: Place, result: DeepScanResult) -> None:
    if isinstance(result, Charge):
        await reserve_charge(session, place.tenant_id, result)
    elif isinstance(result, ChargeSettlement):
        await settle_charge(session, result.entry_id, billed=result.billed, note=result.note)
    elif isinstance(result, ChargeRefusal):
        await store_refusal(session, result)
    elif isinstance(result, PlaceRemoved):
        await _store_removal(session, place)
    elif isinstance(result, DetailsKnown):
        await resolve_place(session, place, extract=result.extract)
    elif isinstance(result, DetailsFetched):
        await _store_details(session, place, result)


async def _store_removal(session: AsyncSession, place: Place) -> None:
    """Mark the place as gone. The business is not closed by it.

    Providers drop IDs when they merge places, which says nothing about the business. From now on
    other sources take precedence.
    """
    place.gone_at = func.now()
    if place.local_business_id is not None:
        await resolve_place(session, place)


async def _store_details(session: AsyncSession, place: Place, details: DetailsFetched) -> None:
    details = await remove_erased(session, place.tenant_id, details)
    await settle_charge(session, details.entry_id, billed=True)
    write_facts(place, details.facts)
    now_at = (
        await _upsert_moved_place(session, place, details.moved)
        if details.moved is not None
        else None
    )
    await resolve_place(session, place, extract=details.extract and now_at is None)
    if now_at is not None:
        await resolve_place(session, now_at, extract=details.extract)


async def _upsert_moved_place(session: AsyncSession, place: Place, facts: PlaceFacts) -> Place:
    """Upsert and lock the place that this one moved to, before any business is locked, as
    everywhere.

    A new row gets the curation status of the old one, because it is the same business. This scan
    counts as its deep scan.
    """
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
            deep_scan_status=DEEP_SCAN_STATUSES.done,
        )
        .on_conflict_do_nothing()
    )
    moved = await session.scalar(
        select(Place)
        .where(
            Place.tenant_id == place.tenant_id,
            Place.provider == facts.provider,
            Place.place_id == facts.place_id,
        )
        .with_for_update()
    )
    assert moved is not None, "it was there or has been made"
    write_facts(moved, facts)
    return moved


MAX_MOVES = 5
"""Maximum length of a chain of moves. Each step is a paid request."""
NO_KEY_MESSAGE = "No Google API key. Set GOOGLE_PLACES_API_KEY, restart, and queue the place again."


@dataclass(frozen=True)
class DeepScanRequest:
    """The fields of a place that the work needs."""

    id: UUID
    provider: str
    place_id: str
    details_at: datetime | None
    refresh_asked_at: datetime | None
    age: timedelta | None = None
    """Age of its details."""
    language: str | None = None
    region: str | None = None
    """Region of the search that found it."""

    def has_fresh_details(self, max_age: timedelta) -> bool:
        """Return whether no request is needed. Only Google has details by place ID."""
        if self.provider != Provider.GOOGLE:
            return True
        if self.details_at is None or self.age is None or self.age > max_age:
            return False
        return self.refresh_asked_at is None or self.refresh_asked_at <= self.details_at


def read(place: Place) -> DeepScanRequest:
    return DeepScanRequest(
        id=place.id,
        provider=place.provider,
        place_id=place.place_id,
        details_at=place.details_at,
        refresh_asked_at=place.refresh_asked_at,
    )


async def prepare(session: AsyncSession, item: DeepScanRequest) -> DeepScanRequest:
    result = await session.execute(
        select(
            func.now() - Place.details_at,
            Job.params["language"].astext,
            Job.params["region"].astext,
        )
        .outerjoin(Job, Job.id == Place.search_id)
        .where(Place.id == item.id)
    )
    age, language, region = result.one()
    return replace(item, age=age, language=language, region=region)


async def work(item: DeepScanRequest, tools: Tools) -> AsyncIterator[DeepScanResult]:
    settings = tools.settings
    if item.has_fresh_details(timedelta(days=settings.place_details_max_age_days)):
        yield DetailsKnown(extract=settings.auto_extract_domains)
    else:
        async for each in _fetch_chain(item, tools):
            yield each


async def _fetch_chain(item: DeepScanRequest, tools: Tools) -> AsyncIterator[DeepScanResult]:
    """Fetch the place and follow its moves to the end of the chain."""
    settings = tools.settings
    if not settings.google_places_api_key:
        raise Rejected(NO_KEY_MESSAGE)
    chain: list[PlaceFacts] = []
    place_id = item.place_id
    while True:
        charge = _build_charge(item, settings)
        yield charge
        response = await _fetch_details(item, place_id, tools)
        if isinstance(response, PlaceFacts):
            chain.append(response)
        else:
            yield build_refusal(response, charge)
            if not isinstance(response, PlaceGone):
                raise classify_failure(response) from response
            if not chain:
                yield PlaceRemoved()
                raise Skipped(f"Google no longer has this place: {response}")
        following = _get_next_id(chain, response)
        if following is None:
            break
        yield ChargeSettlement(
            charge.entry_id, billed=True, note=f"The place moved to {following}."
        )
        place_id = following
    yield _build_result(chain, charge.entry_id, settings)


async def _fetch_details(
    item: DeepScanRequest, place_id: str, tools: Tools
) -> PlaceFacts | ProviderFailed:
    settings = tools.settings
    google = GooglePlaces(
        tools.fetch, settings.google_places_api_key, settings.google_places_base_url
    )
    try:
        return await google.details(
            place_id,
            mask=DETAILS_FULL,
            language=item.language or settings.places_language,
            region=item.region or settings.places_region or None,
        )
    except ProviderFailed as error:
        return error


def _build_charge(item: DeepScanRequest, settings: Settings) -> Charge:
    return Charge(
        entry_id=uuid7(),
        provider=Provider.GOOGLE,
        sku=DETAILS_FULL.sku,
        method=DETAILS_FULL.method,
        default_cap_usd=get_default_cap(settings),
        free_tier=settings.google_free_requests,
        place_id=item.id,
        installation_cap_usd=get_default_installation_cap(settings),
    )


def _get_next_id(chain: list[PlaceFacts], response: PlaceFacts | ProviderFailed) -> str | None:
    """Return the next ID to fetch, or None at the end of the chain or in a cycle."""
    if not isinstance(response, PlaceFacts) or len(chain) > MAX_MOVES:
        return None
    return _get_new_id(response, chain)


def _get_new_id(facts: PlaceFacts, chain: list[PlaceFacts]) -> str | None:
    return None if facts.moved_to in {each.place_id for each in chain} else facts.moved_to


def _build_result(chain: list[PlaceFacts], entry_id: UUID, settings: Settings) -> DetailsFetched:
    """Build the result from the first and the last place of the chain."""
    first, last = chain[0], chain[-1]
    last = replace(last, moved_to=_get_new_id(last, chain))
    return DetailsFetched(
        entry_id=entry_id,
        facts=replace(first, moved_to=last.place_id) if len(chain) > 1 else last,
        moved=last if len(chain) > 1 else None,
        extract=settings.auto_extract_domains,
    )


STAGE = Stage(
    name=DEEP_SCAN_STAGE,
    does="Fetch a place's details, unless they are fresh, and resolve its business.",
    workflow="WF2",
    model=Place,
    status="deep_scan_status",
    words=DEEP_SCAN_STATUSES,
    prefix="DEEP_SCAN_SCHEDULER",
    pace=Pace(batch_size=25, max_instances=3, concurrency=4, timeout_seconds=60),
    feeds=(EXTRACTION_STAGE,),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
    stores_separately=True,
)
