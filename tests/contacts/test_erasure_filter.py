"""Everything that looks like an address or number is compared with the digests of erased values."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.contacts import erasure_filter
from scrapersky.contacts.erasure import erase
from scrapersky.contacts.erasure_filter import load_erased, remove_erased
from scrapersky.contacts.page_parser import ParsedPage
from scrapersky.contacts.store import store_page
from scrapersky.db.session import Database
from scrapersky.models import Contact, Page, Suppression, SuppressionKind
from scrapersky.scraper.contacts.finder import read_contacts
from scrapersky.scraper.html.model import PageFacts
from tests.app import serving
from tests.auth.accounts import SYSTEM
from tests.conftest import make_settings
from tests.contacts.rows import CONTACTS, SUPPRESSIONS, a_domain, a_page, stored
from tests.waiting import wait_for_lock_waiters

SITE = "backhaus-berger.de"
ANNA, NUMBER = f"anna.b@{SITE}", "+4930901820"


@pytest.fixture
async def erased(database: Database) -> Database:
    """Anna was, and so was her number."""
    async with database.transaction() as session:
        await erase(session, SYSTEM, SuppressionKind.EMAIL, ANNA)
        await erase(session, SYSTEM, SuppressionKind.PHONE, NUMBER)
    return database


async def filtered(database: Database, value: Any) -> Any:
    async with database.transaction() as session:
        return await remove_erased(session, SYSTEM.tenant_id, value)


@pytest.mark.parametrize(
    "written",
    [
        ANNA,
        ANNA.upper(),
        f"anna.b%40{SITE}",
        f"anna.b&#64;{SITE}",
        "anna.b&#x40;backhaus-berger&#46;de",
        "&#97;nna&period;b&commat;backhaus-berger.de",
        f"anna.b\\u0040{SITE}",
        "anna\\x2eb\\x40backhaus-berger.de",
        f"anna.b@\u200b{SITE}",
        "an\u00adna.b@backhaus-\u200bberger.de",
        f"anna.b\uff20{SITE}",
        f"anna.b&amp;#64;{SITE}",
        f"anna.b%2540{SITE}",
        "anna.b (at) backhaus-berger (dot) de",
        "Anna.B [ät] backhaus-berger [punkt] de",
        "anna.b @ backhaus-berger.de",
        NUMBER,
        "4930901820",
        "+49 30 901820",
        "+49 (0)30 / 90 18 20",
        "0049 30 90 18-20",
        "030 901820",
        "(030) 90 18 20",
        "030/90.18.20",
        "030\u00a0901820",
        "030&nbsp;901820",
        "030%20901820",
        "030\u200b901820",
        "+49&#160;30&#160;901820",
    ],
)
async def test_every_spelling_is_masked_in_a_text(written: str, erased: Database) -> None:
    text = await filtered(erased, f"Write or call: {written}, every day")

    assert "[erased]" in text
    assert "anna" not in text.lower()
    assert "18" not in text
    assert text.startswith("Write or call: ")
    assert text.endswith(", every day")


@pytest.mark.parametrize(
    "text",
    [
        f"joanna.b@{SITE}",
        f"anna.b@{SITE}.example.com",
        f"anna@{SITE}",
        "Call 030 9018201 or 030 90182",
        "Order 1030901820",
        "DE30901820",
        "[erased]",
        "Anna Berger, Bäckerin",
        "2024-05-01T10:00:00Z",
    ],
)
async def test_others_stay_as_they_are(text: str, erased: Database) -> None:
    assert await filtered(erased, text) == text


async def test_an_erased_number_among_thousands_is_found(erased: Database) -> None:
    others = [f"{100_000_000 + 37 * number}" for number in range(4_000)]
    said = await filtered(erased, [*others[:2_000], "Call 030 901820", *others[2_000:]])

    assert said == [*others[:2_000], "Call [erased]", *others[2_000:]]


async def test_a_number_of_another_country_with_the_same_end_hides_nothing(
    erased: Database,
) -> None:
    said = await filtered(erased, ["+130901820", "+1 30901820", "030 901820", "+4430901820"])

    assert said == ["+130901820", "+1 30901820", "+4430901820"]


async def test_numbers_that_are_too_many_to_be_compared_are_masked(
    erased: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure_filter, "MAX_GUESSED_NUMBERS", 2)
    said = {
        "first": "Call 0341 1234567.",
        "second": "Order 100000037, then 030 901820, since 2024-05-01, or +49 341 7654321",
        "escaped": "030%20901820 & more",
        "url": "https://backhaus-berger.de/123456789",
    }
    clean = await filtered(erased, said)

    assert clean == {
        "first": "Call 0341 1234567.",
        "second": "Order [erased], then [erased], since 2024-05-01, or +49 341 7654321",
        "escaped": "[erased] & more",
        "url": "https://backhaus-berger.de/123456789",
    }


@pytest.mark.parametrize(
    "piece", ["1 ", "1234567 ", "0", "+", "a@b.de ", "@", "&#", "\\u00", "(at)"]
)
async def test_a_large_hostile_text_is_compared(piece: str, erased: Database) -> None:
    """Each of them once took time that grew with the square of its length."""
    said = piece * (1_000_000 // len(piece)) + f" {ANNA}"

    assert ANNA not in await filtered(erased, said)


async def test_the_last_of_two_numbers_in_a_row_is_found(erased: Database) -> None:
    said = await filtered(erased, "Mo-Fr 8-18 030 901821 030 901820")

    assert said == "Mo-Fr 8-18 030 901821 [erased]"


async def test_of_lists_and_objects_what_is_it_goes(erased: Database) -> None:
    said = {"emails": [ANNA, "info@a.de"], "telephone": "030 901820", "name": f"Anna {ANNA}"}

    clean = await filtered(erased, said)

    assert clean == {"emails": ["info@a.de"], "name": "Anna [erased]"}


async def test_where_nobody_was_erased_nothing_is_looked_for(database: Database) -> None:
    said = {"text": ANNA}

    assert await filtered(database, said) is said


async def test_a_page_that_is_stored_while_a_person_is_erased_does_not_bring_them_back(
    database: Database,
) -> None:
    domain = a_domain()
    page = a_page(domain, "/team")
    await stored(database, domain, page)
    contacts = read_contacts(f"<a href='mailto:{ANNA}'>Anna</a>", url=page.url)
    read = ParsedPage(page.url, page.url, 200, PageFacts(page.url, title=ANNA), contacts)
    compared = asyncio.Event()

    async def store() -> None:
        async with database.transaction() as session:
            row = await session.get_one(Page, page.id, with_for_update=True)
            await load_erased(session, SYSTEM.tenant_id)
            compared.set()
            await wait_for_lock_waiters(database)  # the erasure waits for the advisory lock
            await store_page(session, row, read)

    async def erase_anna() -> int:
        await compared.wait()
        async with database.transaction() as session:
            return (await erase(session, SYSTEM, SuppressionKind.EMAIL, ANNA)).contacts

    _, contacts_erased = await asyncio.gather(store(), erase_anna())

    async with database.reading() as session:
        left = await session.scalar(select(func.count(Contact.id)))
        title = await session.scalar(select(Page.title))
    assert (contacts_erased, left, title) == (1, 0, "[erased]")


async def test_whoever_erases_gives_way_to_those_who_store(database: Database) -> None:
    """A page's row is locked before the erasure begins, and its result is stored after."""
    domain = a_domain()
    page = a_page(domain, "/team", title=f"Write to {ANNA}")
    await stored(database, domain, page)
    read = ParsedPage(
        page.url,
        page.url,
        200,
        PageFacts(page.url, title=ANNA),
        read_contacts("<p>Nobody</p>", url=page.url),
    )
    locked = asyncio.Event()

    async def store() -> None:
        async with database.transaction() as session:
            row = await session.get_one(Page, page.id, with_for_update=True)
            locked.set()
            await wait_for_lock_waiters(database)  # the erasure waits for the page's row
            await store_page(session, row, read)

    async def erase_anna() -> None:
        await locked.wait()
        async with database.transaction() as session:
            await erase(session, SYSTEM, SuppressionKind.EMAIL, ANNA)

    await asyncio.gather(store(), erase_anna())

    async with database.reading() as session:
        assert await session.scalar(select(Page.title)) in ("[erased]", None)


async def test_who_was_erased_is_not_written_down_by_suppressing_them(
    url: str, erased: Database
) -> None:
    items = [
        {"value": ANNA, "reason": "asked"},
        {"value": f"info@{SITE}", "reason": f"{ANNA} said so"},
    ]
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        done = (await client.post(SUPPRESSIONS, json={"items": items})).json()

    async with erased.reading() as session:
        found = await session.execute(select(Suppression.value, Suppression.reason))
        kept = {(value, reason) for value, reason in found}
    assert [each["outcome"] for each in done["lines"]] == ["already_there", "added"]
    assert done["lines"][0]["id"] is not None
    assert ANNA not in str(done)
    assert kept == {(None, None), (f"info@{SITE}", "[erased] said so")}


async def test_what_people_type_about_others_is_masked(url: str, erased: Database) -> None:
    await stored(erased, a_domain())
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        given = {"domain": SITE, "kind": "email", "value": f"info@{SITE}", "note": f"Was {ANNA}."}
        added: httpx.Response = await client.post(CONTACTS, json=given)
        change = {"note": "Call 030 901820", "name": f"Anna {ANNA}"}
        edited = await client.patch(f"{CONTACTS}/{added.json()['id']}", json=change)

    assert added.json()["note"] == "Was [erased]."
    assert (edited.json()["note"], edited.json()["name"]) == ("Call [erased]", "Anna [erased]")
