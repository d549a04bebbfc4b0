"""Ask a provider for all it knows of a place, unless it told us already, and make a business of it.

Money is asked for before the request is sent (see `governor.py`); a place whose details came with
its search costs nothing here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import Rejected, Skipped
from scrapersky.models import DEEP_SCAN_WORDS, Job, Place, Provider
from scrapersky.models.stage_names import DEEP_SCAN_STAGE, EXTRACTION_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.places.deep_scan_storing import Details, Done, Gone, Known, Result, store
from scrapersky.places.governor import (
    Charge,
    Settlement,
    default_cap,
    default_installation_cap,
)
from scrapersky.places.governor_refusals import refusal_of, verdict_of
from scrapersky.scraper.providers.failures import PlaceGone, ProviderFailed
from scrapersky.scraper.providers.google import DETAILS_FULL, GooglePlaces
from scrapersky.scraper.providers.model import PlaceFacts
from scrapersky.settings import Pace, Settings

MAX_MOVES = 5
"""Places that moved again and again; each is a request that costs."""
NO_KEY = (
    "Google is not asked without a key. Set GOOGLE_PLACES_API_KEY, restart, and queue it again."
)


@dataclass(frozen=True)
class Item:
    """A place, as far as the work needs it."""

    id: UUID
    provider: str
    place_id: str
    details_at: datetime | None
    refresh_asked_at: datetime | None
    age: timedelta | None = None
    """Of its details."""
    language: str | None = None
    region: str | None = None
    """Those of the search that found it."""

    def is_known(self, max_age: timedelta) -> bool:
        """Whether there is nothing to ask: only Google's places can be asked for one by one."""
        if self.provider != Provider.GOOGLE:
            return True
        if self.details_at is None or self.age is None or self.age > max_age:
            return False
        return self.refresh_asked_at is None or self.refresh_asked_at <= self.details_at


def read(place: Place) -> Item:
    return Item(
        id=place.id,
        provider=place.provider,
        place_id=place.place_id,
        details_at=place.details_at,
        refresh_asked_at=place.refresh_asked_at,
    )


async def prepare(session: AsyncSession, item: Item) -> Item:
    found = await session.execute(
        select(
            func.now() - Place.details_at,
            Job.params["language"].astext,
            Job.params["region"].astext,
        )
        .outerjoin(Job, Job.id == Place.search_id)
        .where(Place.id == item.id)
    )
    age, language, region = found.one()
    return replace(item, age=age, language=language, region=region)


async def work(item: Item, tools: Tools) -> AsyncIterator[Result]:
    """What was found is stored by itself: rows that are completed together could otherwise lock
    the businesses they share crosswise."""
    settings = tools.settings
    if item.is_known(timedelta(days=settings.place_details_max_age_days)):
        yield Known(extract=settings.auto_extract_domains)
    else:
        async for each in _ask(item, tools):
            yield each
    yield Done()


async def _ask(item: Item, tools: Tools) -> AsyncIterator[Result]:
    """Where the place moved, the new one is asked for, too, until the end of the chain."""
    settings = tools.settings
    if not settings.google_places_api_key:
        raise Rejected(NO_KEY)
    chain: list[PlaceFacts] = []
    place_id = item.place_id
    while True:
        charge = _charge(item, settings)
        yield charge
        told = await _details(item, place_id, tools)
        if isinstance(told, PlaceFacts):
            chain.append(told)
        else:
            yield refusal_of(told, charge)
            if not isinstance(told, PlaceGone):
                raise verdict_of(told) from told
            if not chain:
                yield Gone()
                raise Skipped(f"Google knows this place no more: {told}")
        following = _following(chain, told)
        if following is None:
            break
        yield Settlement(charge.entry_id, billed=True, note=f"It moved to {following}.")
        place_id = following
    yield _result(chain, charge.entry_id, settings)


async def _details(item: Item, place_id: str, tools: Tools) -> PlaceFacts | ProviderFailed:
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


def _charge(item: Item, settings: Settings) -> Charge:
    return Charge(
        entry_id=uuid7(),
        provider=Provider.GOOGLE,
        sku=DETAILS_FULL.sku,
        method=DETAILS_FULL.method,
        default_cap_usd=default_cap(settings),
        free_tier=settings.google_free_requests,
        place_id=item.id,
        installation_cap_usd=default_installation_cap(settings),
    )


def _following(chain: list[PlaceFacts], told: PlaceFacts | ProviderFailed) -> str | None:
    """The id to ask for next; nothing at the chain's end, or where it leads back to itself."""
    if not isinstance(told, PlaceFacts) or len(chain) > MAX_MOVES:
        return None
    return _elsewhere(told, chain)


def _elsewhere(told: PlaceFacts, chain: list[PlaceFacts]) -> str | None:
    return None if told.moved_to in {each.place_id for each in chain} else told.moved_to


def _result(chain: list[PlaceFacts], entry_id: UUID, settings: Settings) -> Details:
    """Of the first place and the last; those between are steps on the way."""
    first, last = chain[0], chain[-1]
    last = replace(last, moved_to=_elsewhere(last, chain))
    return Details(
        entry_id=entry_id,
        facts=replace(first, moved_to=last.place_id) if len(chain) > 1 else last,
        moved=last if len(chain) > 1 else None,
        extract=settings.auto_extract_domains,
    )


STAGE = Stage(
    name=DEEP_SCAN_STAGE,
    does="Ask for a place's details, unless they are known, and make a business of it.",
    workflow="WF2",
    model=Place,
    status="deep_scan_status",
    words=DEEP_SCAN_WORDS,
    prefix="DEEP_SCAN_SCHEDULER",
    pace=Pace(batch_size=25, max_instances=3, concurrency=4, timeout_seconds=60),
    feeds=(EXTRACTION_STAGE,),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
)
