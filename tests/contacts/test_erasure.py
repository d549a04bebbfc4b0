"""Erasing a person removes every stored occurrence of the value, and it is not stored again."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

import httpx
import pytest
from sqlalchemy import LargeBinary, String, Table, cast, func, select

from scrapersky.contacts.page_parser import ParsedPage
from scrapersky.contacts.store import store_page
from scrapersky.db.base import Base, uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    BulkAction,
    Contact,
    Domain,
    Job,
    Lead,
    Page,
    Role,
    SitemapUrl,
    Suppression,
)
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.contacts.model import (
    ContactChannel,
    ContactSearchResult,
    ExtractionMethod,
    FoundContact,
)
from scrapersky.scraper.html.model import PageFacts
from scrapersky.scraper.http.urls import url_digest
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import TEST_ERASURE_KEY
from tests.contacts.rows import (
    CONTACTS,
    SITE,
    SUPPRESSIONS,
    a_contact,
    a_domain,
    a_file,
    a_page,
    a_sighting,
    stored,
)
from tests.stage_cases import OWNED

ANNA, JOANNA, INFO = f"anna@{SITE}", f"joanna@{SITE}", f"info@{SITE}"
NUMBER = "+4930901820"
ERASE = f"{CONTACTS}/erase"


def tables() -> list[Table]:
    """But for those that tests make for themselves."""
    ours = [each.class_ for each in Base.registry.mappers]
    return [each.__table__ for each in ours if each.__module__.startswith("scrapersky.")]


async def places_of(database: Database, text: str) -> list[str]:
    """Every column of every table in which it stands, whatever its type."""
    found = []
    async with database.reading() as session:
        for table in tables():
            for column in table.columns:
                shown: Any = (
                    func.encode(column, "escape")
                    if isinstance(column.type, LargeBinary)
                    else cast(column, String)
                )
                rows = select(func.count()).select_from(table)
                if await session.scalar(rows.where(shown.icontains(text, autoescape=True))):
                    found.append(f"{table.name}.{column.name}")
    return found


def spread(domain: Domain) -> list[Any]:
    """Anna's address wherever one may stand."""
    page = a_page(
        domain,
        "/team",
        title=f"Write to {ANNA}",
        description=f"{ANNA.upper()}, {JOANNA}",
        final_url=f"https://{SITE}/team?mail=anna%40{SITE}",
    )
    written = "Anna (at) backhaus-berger (dot) de"
    anna = a_contact(domain, ANNA, page, name="Anna Berger", raw=written, snippet=f"Anna: {ANNA}")
    number = a_contact(
        domain, NUMBER, page, kind="phone", name="Anna Berger", note=f"Or {ANNA}.", snippet=written
    )
    info = a_contact(domain, INFO, page, snippet=f"{INFO} or {ANNA}", sightings=9)
    return [
        page,
        anna,
        number,
        info,
        a_contact(domain, JOANNA, page, snippet=f"{JOANNA}; {ANNA}"),
        a_sighting(anna, page, raw=written, snippet=ANNA),
        a_sighting(info, page, snippet=f"Office <{INFO}>, Anna <{ANNA}>"),
        Job(
            id=uuid7(),
            job_type="sitemap",
            subject=SITE,
            params={"asked": f"for {ANNA}"},
            error=f"550 {ANNA} is unknown",
            status="failed",
            **OWNED,
        ),
        DeadLetter(
            id=uuid7(),
            tenant_id=OWNED["tenant_id"],
            stage="process_page_curation_queue",
            row_id=page.id,
            attempts=1,
            error_class="Rejected",
            error=f"{ANNA} twice",
            traceback=f"... {ANNA} ...",
            worker="here 1",
        ),
        BulkAction(
            id=uuid7(),
            kind="contact",
            to_status="Selected",
            details={"filter": {"value": [ANNA]}, "note": f"Not {ANNA}!"},
            updated_count=1,
            queued_count=0,
            **OWNED,
        ),
    ]


@pytest.fixture
async def bakery(client: httpx.AsyncClient, database: Database) -> Domain:
    """Where everything says it, what people did and what the API answered included."""
    domain = a_domain(
        email_addresses=[ANNA, INFO],
        phone_numbers=[NUMBER],
        description=f"Mail {ANNA}.",
        meta_json={
            "organisation": {"email": ANNA, "name": "Backhaus", "telephone": "030 901820"},
            "people": [ANNA, JOANNA, {"said": f"ask {ANNA}"}],
        },
    )
    await stored(database, domain, *spread(domain))
    [anna] = (await client.get(CONTACTS, params={"value": ANNA})).json()["items"]
    await client.patch(f"{CONTACTS}/{anna['id']}", json={"note": f"{ANNA} is hers."})
    await client.post(
        SUPPRESSIONS,
        json={"items": [{"value": ANNA, "reason": f"{ANNA} said so"}]},
        headers={"Idempotency-Key": "once"},
    )
    return domain


async def erased(client: httpx.AsyncClient, **whom: str) -> dict[str, Any]:
    answer = await client.post(ERASE, json=whom, headers={"Idempotency-Key": str(uuid7())})
    assert answer.status_code == 200, answer.text
    assert all(each not in answer.text for each in whom.values())
    body: dict[str, Any] = answer.json()
    return body


async def test_afterwards_the_address_stands_nowhere(
    client: httpx.AsyncClient, database: Database, bakery: Domain
) -> None:
    before = await places_of(database, ANNA)
    done = await erased(client, email=" Anna@Backhaus-Berger.de ")

    assert {"contacts.value", "audit_log.details", "idempotency_keys.body"} < set(before)
    assert {"suppressions.value", "leads.other_emails", "domains.meta_json"} < set(before)
    only_joanna = await places_of(database, ANNA.removeprefix("a"))
    for spelling in (f" {ANNA}", f'"{ANNA}', "anna%40", "anna (at)", f"<{ANNA}", f":{ANNA}"):
        assert await places_of(database, spelling) == []
    async with database.reading() as session:
        values = set(await session.scalars(select(Contact.value)))
    assert values == {INFO, JOANNA, NUMBER}
    assert "contacts.value" in only_joanna
    assert (done["contacts"], done["evidence"], done["kind"]) == (1, 1, "email")


async def test_nothing_else_is_lost(
    client: httpx.AsyncClient, database: Database, bakery: Domain
) -> None:
    await erased(client, email=ANNA)

    async with database.reading() as session:
        domain = await session.get_one(Domain, bakery.id)
        page = (await session.scalars(select(Page))).one()
        lead = (await session.scalars(select(Lead))).one()
        job = (await session.scalars(select(Job))).one()
        snippets = set(await session.scalars(select(Contact.snippet)))
    assert (domain.email_addresses, domain.phone_numbers) == ([INFO], [NUMBER])
    assert domain.meta_json == {
        "organisation": {"name": "Backhaus", "telephone": "030 901820"},
        "people": [JOANNA, {"said": "ask [erased]"}],
    }
    assert page.description == f"[erased], {JOANNA}"
    assert page.final_url == f"https://{SITE}/team?mail=[erased]"
    assert job.params == {"asked": "for [erased]"}
    assert (lead.best_email, lead.other_emails) == (INFO, [JOANNA])
    assert snippets == {f"{INFO} or [erased]", f"{JOANNA}; [erased]", "[erased]"}


async def test_only_the_digest_is_kept_and_keeps_it_away(
    client: httpx.AsyncClient, database: Database, bakery: Domain
) -> None:
    done = await erased(client, email=ANNA)
    added = await client.post(CONTACTS, json={"domain": SITE, "kind": "email", "value": ANNA})
    seen = FoundContact(ContactChannel.EMAIL, ANNA, ANNA, ExtractionMethod.MAILTO, "", 0.95)
    async with database.transaction() as session:
        page = (await session.scalars(select(Page))).one()
        read = ParsedPage(
            page.url, page.url, 200, PageFacts(page.url), ContactSearchResult((seen,))
        )
        await store_page(session, page, read)
        kept = await session.get_one(Suppression, done["suppression_id"])

    expected = hmac.digest(TEST_ERASURE_KEY.encode(), sha256(ANNA.encode()).digest(), "sha256")
    assert (kept.value, kept.reason, bytes(kept.digest)) == (None, None, expected)
    assert (added.status_code, page.contacts_found) == (409, 0)
    assert ANNA not in added.text


async def test_asking_again_changes_nothing(
    client: httpx.AsyncClient, database: Database, bakery: Domain
) -> None:
    first = await erased(client, email=ANNA)
    again = await erased(client, email=ANNA)

    assert again == {**first, "contacts": 0, "evidence": 0, "places": {}, "same_name": []}


async def test_what_is_removed_is_told(
    client: httpx.AsyncClient, database: Database, bakery: Domain
) -> None:
    async with database.transaction() as session:
        session.add(a_page(bakery, f"/u/{ANNA}"))
    done = await erased(client, email=ANNA)

    async with database.reading() as session:
        [number] = await session.scalars(select(Contact.id).where(Contact.value == NUMBER))
    assert done["places"]["domains"] == 1
    assert done["places"]["contacts"] == 3
    assert {"pages", "jobs", "bulk_actions", "dead_letters", "audit_log"} < set(done["places"])
    assert done["left_in_urls"] == 1
    assert done["same_name"] == [str(number)]


async def test_urls_in_sitemaps_are_counted_and_what_sitemaps_say_of_them_is_masked(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain()
    file = a_file(domain)
    urls = [f"https://{SITE}/u/{each}" for each in (ANNA, f"anna%40{SITE}", JOANNA)]
    listed = [
        SitemapUrl(
            sitemap_id=file.id,
            url=each,
            url_digest=url_digest(each),
            extras={"images": [{"caption": f"Anna, {ANNA}"}]},
            first_seen=func.now(),
        )
        for each in urls
    ]
    await stored(database, domain, file, a_page(domain, f"/u/{ANNA}"), *listed)

    done = await erased(client, email=ANNA)

    async with database.reading() as session:
        extras = list(await session.scalars(select(SitemapUrl.extras)))
    assert done["left_in_urls"] == 2  # the page's URL is one of those in the sitemap
    assert extras == [{"images": [{"caption": "Anna, [erased]"}]}] * 3


async def test_a_number_is_erased_however_it_is_written(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain(
        phone_numbers=[NUMBER],
        social_links=["https://wa.me/4930901820"],
        meta_json={"organisation": {"telephone": "030 901820", "vat": "DE30901820"}},
        description="Call 030/90 18 20 or +49 30 901820, not +49 30 9018201.",
    )
    page = a_page(domain, "/kontakt")
    number = a_contact(domain, NUMBER, page, kind="phone", raw="030/90 18 20")
    whatsapp = a_contact(domain, "https://wa.me/4930901820", page, kind="social")
    await stored(database, domain, page, number, whatsapp, a_sighting(number, page))

    done = await erased(client, phone="0049 30 901820")

    async with database.reading() as session:
        left = await session.get_one(Domain, domain.id)
        lead = (await session.scalars(select(Lead))).one()
        assert await session.scalar(select(func.count(Contact.id))) == 0
    assert done["contacts"] == 2
    assert (left.phone_numbers, left.social_links) == ([], [])
    assert left.meta_json == {"organisation": {"vat": "DE30901820"}}
    assert left.description == "Call [erased] or [erased], not +49 30 9018201."
    assert (lead.phone, lead.profiles) == (None, [])


async def test_only_ones_own_tenant_is_searched(url: str, database: Database) -> None:
    other = await add_tenant(database, "others")
    theirs = a_domain(tenant_id=other.tenant_id, created_by=other.user_id)
    await stored(database, theirs, a_contact(theirs, ANNA))
    _, mine = await add_key(database)
    async with asking(signed_in_settings(url), mine) as client:
        done = await erased(client, email=ANNA)

    assert (done["contacts"], done["places"]) == (0, {})
    assert "contacts.value" in await places_of(database, ANNA)


async def test_erasing_is_for_admins(url: str, database: Database) -> None:
    _, curator = await add_key(database, role=Role.CURATOR)
    async with asking(signed_in_settings(url), curator) as client:
        refused = await client.post(ERASE, json={"email": ANNA})

    assert refused.status_code == 403


@pytest.mark.parametrize(
    "whom",
    [
        {},
        {"email": ANNA, "phone": NUMBER},
        {"email": "anna"},
        {"phone": "901820"},
        {"name": "Anna"},
    ],
)
async def test_whom_to_erase_has_to_be_said(
    client: httpx.AsyncClient, whom: dict[str, str]
) -> None:
    assert (await client.post(ERASE, json=whom)).status_code == 422
