"""An erased person stays erased, whatever is read or imported later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import Column, LargeBinary, MetaData, String, cast, func, select, update

from scrapersky.businesses.listing import EXPORT as BUSINESSES
from scrapersky.contacts.listing import EXPORT as CONTACTS
from scrapersky.db.session import Database
from scrapersky.domains.listing import EXPORT as DOMAINS
from scrapersky.jobs.listing import EXPORT as JOBS
from scrapersky.leads.listing import EXPORT as LEADS
from scrapersky.lists.exports import ExportFormat, ExportRequest, stream_export
from scrapersky.models import Contact, Domain, Lead, Page, Place
from scrapersky.pages.listing import EXPORT as PAGES
from scrapersky.places.listing import EXPORT as PLACES
from scrapersky.sitemaps.listing import EXPORT as SITEMAP_FILES
from scrapersky.testing import FakePlace, PlacesProvider
from tests.app import serving
from tests.auth.accounts import SYSTEM
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.leads.stage_runs import Run, html, started
from tests.places.deep_scans import queued

SITE = "backhaus-muster.de"
ANNA, INFO = f"anna@{SITE}", f"info@{SITE}"
SPELLED_OUT = "Anna (at) backhaus-muster (dot) de"
NUMBER, OTHER = "+493411234567", "+493417654321"
PRINTED, NATIONAL, DIGITS = "0341/12 34 567", "0341 1234567", "493411234567"
SPELLINGS = (ANNA, f"anna%40{SITE}", SPELLED_OUT, NUMBER, PRINTED, NATIONAL, DIGITS)
EXPORTS = (BUSINESSES, CONTACTS, DOMAINS, JOBS, LEADS, PAGES, PLACES, SITEMAP_FILES)
ORGANISATION = f"""<script type="application/ld+json">{{"@context": "https://schema.org",
"@type": "Bakery", "name": "Backhaus Muster", "telephone": "{PRINTED}", "email": "{ANNA}",
"address": {{"streetAddress": "Weg 1", "postalCode": "04109", "addressLocality": "Leipzig"}}}}
</script>"""
HOME = html(
    f"<h1>Anna: {ANNA.upper()}</h1><a href=/kontakt>Kontakt {ANNA}</a>"
    f"<p>{INFO}, {ANNA} oder {SPELLED_OUT}</p><p>Tel. {PRINTED}, Laden 0341 7654321</p>"
    f"<a href='mailto:{ANNA}'>Anna</a> <a href='tel:{NUMBER}'>Anna</a>"
    f"<a href='https://wa.me/{DIGITS}'>WhatsApp</a>",
    title=f"Backhaus Muster, {ANNA}",
    head=ORGANISATION + f'<meta name="description" content="Anruf: {PRINTED}, {SPELLED_OUT}">',
)
CONTACT = html(
    f"<h1>{PRINTED}</h1><p>Backstube {INFO} ({ANNA}, Tel. {NATIONAL})</p>"
    f"<a href='tel:{OTHER}'>Laden</a> <a href='mailto:{ANNA}'>Anna</a>",
    title=f"Anna Muster: {SPELLED_OUT}, {NATIONAL}",
    head=f'<meta name="description" content="Mail {ANNA}"><link rel="canonical" '
    f'href="http://{SITE}/kontakt?mail=anna%40{SITE}">',
)
SITEMAP = f"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://{SITE}/kontakt</loc>
<image:image><image:loc>http://{SITE}/a.jpg</image:loc><image:caption>Anna, {ANNA}</image:caption>
</image:image></url></urlset>"""
LIST = f"""id;name;website;phone;email;city;country;remarks
1;Backhaus Muster;http://{SITE};{PRINTED};{ANNA};Leipzig;DE;Ask {SPELLED_OUT}, {NATIONAL}
"""
GOOGLE_ID = "ChIJ-muster"


async def find_columns(database: Database) -> dict[str, list[str]]:
    """For each spelling, every column of every table there is in which it stands, whatever the
    column's type."""
    shown: dict[str, list[str]] = {}
    async with database.engine.connect() as connection:
        metadata = MetaData()
        await connection.run_sync(metadata.reflect)
        for table in metadata.tables.values():
            rows = await connection.execute(select(*map(_show, table.columns)))
            values = zip(*rows, strict=True)
            for column, texts in zip(table.columns, values, strict=False):
                shown[f"{table.name}.{column.name}"] = [each.lower() for each in texts if each]
    return {
        spelling: [
            name for name, texts in shown.items() if any(spelling.lower() in each for each in texts)
        ]
        for spelling in SPELLINGS
    }


def _show(column: Column[Any]) -> Any:
    if isinstance(column.type, LargeBinary):
        return func.encode(column, "escape")
    return cast(column, String)


async def find_exports(database: Database) -> dict[str, list[str]]:
    """For each spelling, the exports in which it stands."""
    found: dict[str, list[str]] = {each: [] for each in SPELLINGS}
    for export in EXPORTS:
        columns = ",".join(each.name for each in (*export.usual, *export.more))
        for word in (ExportFormat.CSV, ExportFormat.JSONL):
            asked = ExportRequest({}, format=word, columns=columns)
            pieces = await stream_export(database, export, SYSTEM, asked)
            text = b"".join([each async for each in pieces]).decode().lower()
            for spelling in SPELLINGS:
                if spelling.lower() in text:
                    found[spelling].append(f"{export.rows} as {word}")
    return found


@pytest.fixture
async def provider() -> AsyncIterator[PlacesProvider]:
    bakery = FakePlace(
        name="Backhaus Muster",
        latitude=51.34,
        longitude=12.37,
        phone="+49 341 1234567",
        phone_national=PRINTED,
        website=f"http://{SITE}/",
        city="Leipzig",
        place_id=GOOGLE_ID,
    )
    async with PlacesProvider([bakery], []) as opened:
        yield opened


async def read_everything(run: Run) -> None:
    """Until there is nothing left to do: stages hand rows on to earlier ones."""
    for _ in range(4):
        await run.work()


async def hand_in(client: httpx.AsyncClient, text: str) -> None:
    answer = await client.post(
        "/api/v3/places/import-csv",
        content=text.encode(),
        params={"region": "DE"},
        headers={"Content-Type": "text/csv"},
    )
    assert answer.json()["accepted"] == 1, answer.text


async def read_again(run: Run, client: httpx.AsyncClient) -> None:
    """Refresh, re-read, re-import, and ask the provider again."""
    domain = await run.one(Domain)
    assert (await client.post(f"/api/v3/domains/{domain.id}/refresh")).status_code == 202
    async with run.database.transaction() as session:
        await session.execute(update(Page).values(page_processing_status="Queued"))
        await session.execute(
            update(Place)
            .where(Place.provider == "google")
            .values(deep_scan_status="Queued", deep_scan_due_at=func.now(), details_at=None)
        )
    await hand_in(client, LIST)
    await hand_in(client, LIST.replace("1;", "2;"))
    await read_everything(run)


async def test_an_erased_person_stays_erased(
    url: str, database: Database, provider: PlacesProvider
) -> None:
    asked = {name.lower(): value for name, value in provider.environment().items()}
    async with FakeWeb() as web:
        site = web.host(SITE)
        site.page("/", HOME)
        site.page("/kontakt", CONTACT)
        robots = f"# {ANNA}\nUser-agent: *\nAllow: /\n"
        site.body("/robots.txt", robots, headers={"ETag": '"1"'})
        site.xml("/sitemap.xml", SITEMAP)
        run = Run(None, database, web)  # type: ignore[arg-type]
        async with (
            serving(make_settings(url, scheduler_enabled=False)) as client,
            started(run, url, **asked),
        ):
            await run.domain(SITE)
            async with database.transaction() as session:
                session.add(queued(GOOGLE_ID))
            await hand_in(client, LIST)
            await read_everything(run)
            before = await find_columns(database)

            for whom in ({"email": ANNA}, {"phone": NUMBER}):
                answer = await client.post("/api/v3/contacts/erase", json=whom)
                assert answer.status_code == 200, answer.text
            await read_again(run, client)

            after = await find_columns(database)
            exported = await find_exports(database)
            contacts = {each.value for each in await run.all(Contact)}
            lead = await run.one(Lead)
            domain = await run.one(Domain)

    assert {"domains.email_addresses", "domains.meta_json", "domains.title"} <= set(before[ANNA])
    assert {"domains.robots_state", "sitemap_urls.extras", "places.emails"} <= set(before[ANNA])
    assert {"domains.phone_numbers", "places.phone"} <= set(before[NUMBER])
    assert "pages.title" in before[SPELLED_OUT]
    assert "pages.h1" in before[PRINTED]
    assert after == {each: [] for each in SPELLINGS}
    assert exported == {each: [] for each in SPELLINGS}
    assert contacts == {INFO, OTHER}  # the others of the site are still there
    assert (lead.best_email, lead.phone) == (INFO, OTHER)
    assert domain.title == "Backhaus Muster, [erased]"
