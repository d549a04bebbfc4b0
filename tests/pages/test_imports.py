"""Importing pages: their domain is found or created, they are classified, and each has a result."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Domain, Page
from scrapersky.settings import Settings
from tests.app import serving
from tests.conftest import make_settings
from tests.import_files import import_csv, statuses, submit


@pytest.fixture
def settings(url: str) -> Settings:
    return make_settings(url, scheduler_enabled=False)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(settings) as client:
        yield client


async def pages(database: Database) -> dict[str, Page]:
    async with database.reading() as session:
        return {each.url: each for each in await session.scalars(select(Page))}


async def test_a_page_is_stored_with_its_domain_kind_and_host(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await submit(client, "pages", urls=["https://www.bakery.example/de/kontakt.html"])

    [page] = (await pages(database)).values()
    async with database.reading() as session:
        domain = (await session.scalars(select(Domain))).one()
    assert said["results"][0]["id"] == str(page.id)
    assert (page.domain_id, domain.domain) == (domain.id, "bakery.example")
    assert (page.page_type, page.host, page.path_depth) == ("contact", "www.bakery.example", 2)
    assert page.page_rule
    assert page.page_processing_status == "Queued"


async def test_its_domain_is_not_looked_at_for_that(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "pages", urls=["bakery.example/contact"])
    async with database.reading() as session:
        domain = (await session.scalars(select(Domain))).one()
    assert (domain.status, domain.sitemap_analysis_status) == ("new", "pending")


async def test_not_queued_ones_wait_until_they_are_handed_in_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "pages", urls=["bakery.example/contact"], queue=False)
    [page] = (await pages(database)).values()
    assert page.page_processing_status == "New"

    said = await submit(client, "pages", urls=["bakery.example/contact"], queue=True)
    [page] = (await pages(database)).values()
    assert statuses(said) == [(1, "exists")]
    assert (said["queued"], page.page_processing_status) == (1, "Queued")


async def test_a_page_that_was_read_is_not_read_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "pages", urls=["bakery.example/contact"])
    async with database.transaction() as session:
        (await session.scalars(select(Page))).one().page_processing_status = "Complete"
    said = await submit(client, "pages", urls=["bakery.example/contact"])
    assert (statuses(said), said["queued"]) == ([(1, "exists")], 0)


async def test_spellings_of_one_address_are_one_page(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await submit(
        client,
        "pages",
        urls=[
            "HTTPS://Bakery.Example/Team",
            "bakery.example/Team",
            "https://bakery.example:443/Team#people",
            "https://bakery.example/team",
            "https://bakery.example",
            "https://bakery.example/",
        ],
    )
    assert [status for _, status in statuses(said)] == [
        "created", "duplicate", "duplicate", "created", "created", "duplicate",
    ]  # fmt: skip
    assert set(await pages(database)) == {
        "https://bakery.example/Team",
        "https://bakery.example/team",
        "https://bakery.example/",
    }


async def test_a_file_of_pages_keeps_commas_and_names_of_other_alphabets(
    client: httpx.AsyncClient, database: Database
) -> None:
    body = "https://bakery.example/a,b;c\nhttps://müller.example/über?x=1|2\n"
    said = await import_csv(client, "pages", body.encode("utf-16"), queue=False)

    assert statuses(said) == [(1, "created"), (2, "created")]
    assert set(await pages(database)) == {
        "https://bakery.example/a,b;c",
        "https://xn--mller-kva.example/über?x=1|2",
    }


async def test_bad_rows_are_told_and_cost_no_others(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await submit(
        client,
        "pages",
        urls=[
            "https://bakery.example/" + "x" * 3_000,
            "mailto:info@bakery.example",
            "https://user:secret@bakery.example/",
            "http://10.0.0.1/admin",
            "https://bakery.example/a\x00b",
            "https://[::1/",
            "\ud800",
            None,
            "bakery.example/contact",
        ],
    )
    assert [status for _, status in statuses(said)] == ["invalid"] * 8 + ["created"]
    assert all(each["error"] for each in said["results"][:8])
    assert set(await pages(database)) == {"https://bakery.example/contact"}


async def test_many_pages_of_many_domains_are_stored_in_several_statements(
    client: httpx.AsyncClient, database: Database
) -> None:
    rows = [f"https://s{number % 500}.example/p/{number}" for number in range(5_000)]
    said = await import_csv(client, "pages", "link\n" + "\n".join(rows))
    again = await import_csv(client, "pages", "link\n" + "\n".join(reversed(rows)))

    assert (said["created"], again["existing"]) == (5_000, 5_000)
    assert {each["input"]: each["id"] for each in said["results"]} == {
        each["input"]: each["id"] for each in again["results"]
    }
