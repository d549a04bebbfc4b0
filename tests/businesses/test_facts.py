"""The organisation that a site describes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from scrapersky.businesses.resolution import resolve_site
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain
from tests.businesses.rows import business, businesses, change, google, noted, sightings
from tests.stage_cases import OWNED

OURS = {
    "name": "Kornblume Backwaren GmbH",
    "telephone_e164": "+493411234567",
    "address": {"street": "Karl-Heine-Str. 46", "postal_code": "04229", "locality": "Leipzig"},
    "address_text": "Karl-Heine-Str. 46, 04229 Leipzig",
}


async def _read(database: Database, organisation: dict[str, Any]) -> UUID | None:
    """The site's home page was read, and says this."""
    async with database.transaction() as session:
        [made] = await businesses(database)
        site = Domain(id=uuid7(), domain="kornblume-brot.de", **OWNED)
        site.meta_json = {"organisation": organisation}
        session.add(site)
    await change(database, made.id, domain_id=site.id)
    async with database.transaction() as session:
        found = await resolve_site(session, await session.get_one(Domain, site.id))
        return None if found is None else found.id


async def test_a_site_that_says_it_is_the_business_is_one_more_sighting(
    database: Database,
) -> None:
    [made] = await noted(database, google(phone=None))
    found = await _read(database, OURS)
    known = await business(database, made)
    seen = await sightings(database)

    assert found == made
    assert [(each.provider, each.source_key) for each in seen][1] == ("site", "kornblume-brot.de")
    assert (known.phone, known.facts_from["phone"]) == ("+493411234567", "site")
    assert (known.business_name, known.facts_from["street"]) == ("Bäckerei Kornblume", "google")


@pytest.mark.parametrize(
    "organisation",
    [{}, {"name": "Webdesign Pixelschmiede"}, {"telephone_e164": "+493411234567"}],
)
async def test_a_site_that_says_it_is_somebody_else_says_nothing(
    database: Database, organisation: dict[str, Any]
) -> None:
    await noted(database, google())

    assert await _read(database, organisation) is None
    assert len(await sightings(database)) == 1


async def test_a_site_that_nobody_led_to_makes_no_business(database: Database) -> None:
    site = Domain(id=uuid7(), domain="alone.de", meta_json={"organisation": OURS}, **OWNED)
    async with database.transaction() as session:
        session.add(site)
        await session.flush()
        assert await resolve_site(session, site) is None

    assert await businesses(database) == []
