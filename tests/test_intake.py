"""The start box: entries of every kind are classified, and each has a result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.errors import InvalidInput
from scrapersky.intake import classify_entry, parse_entries
from scrapersky.lists.imports.sites import SiteParser
from scrapersky.models import AuditEntry, Domain, Job, Page, Role, SitemapFile
from scrapersky.settings import Settings
from tests.app import serving
from tests.auth.accounts import add_key, asking, signed_in_settings
from tests.conftest import make_settings

START = "/api/v3/start"


@pytest.fixture
def settings(url: str) -> Settings:
    return make_settings(url, scheduler_enabled=False)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(settings) as client:
        yield client


async def start(client: httpx.AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    answer = await client.post(START, json={"text": text, **more})
    assert answer.status_code == 202, answer.text
    said: dict[str, Any] = answer.json()
    return said


async def count(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(model)) or 0)


def fates(said: dict[str, Any]) -> list[tuple[str | None, str]]:
    return [(each["kind"], each["status"]) for each in said["results"]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bakery.example", "domain"),
        ("HTTPS://www.Bakery.example/", "domain"),
        ("https://bakery.example/?utm_source=maps&gclid=1", "domain"),
        ("http://bakery.example/#top", "domain"),
        ("https://bakery.example/sitemap.xml", "sitemap"),
        ("bakery.example/wp-sitemap-posts-1.xml", "sitemap"),
        ("https://bakery.example/maps/all.XML.GZ?x=1", "sitemap"),
        ("https://bakery.example/sitemap_1.txt", "sitemap"),
        ("https://bakery.example/sitemap1.gz", "sitemap"),
        ("https://bakery.example/contact", "page"),
        ("bakery.example/sitemap.html", "page"),
        ("https://bakery.example/?page_id=2", "page"),
        ("https://bakery.example/robots.txt", "page"),
    ],
)
def test_an_entry_is_taken_for_what_it_looks_like(settings: Settings, text: str, kind: str) -> None:
    assert classify_entry(text, SiteParser.from_settings(settings)) == kind


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a.example\r\n\n  b.example  \n", ["a.example", "b.example"]),
        ("a.example, b.example;c.example,d.example,", ["a.example", "b.example", "c.example",
                                                       "d.example"]),
        ("a.example,b.example/x,y", ["a.example", "b.example/x,y"]),
        ("https://a.example/x,y, https://b.example/", ["https://a.example/x,y",
                                                       "https://b.example/"]),
        ("https://a.example/x,https://b.example", ["https://a.example/x", "https://b.example"]),
    ],
)  # fmt: skip
def test_entries_are_divided_by_lines_and_commas(text: str, entries: list[str]) -> None:
    assert parse_entries(text) == entries


async def test_a_domain_is_stored_and_waits_to_be_read(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await start(client, "https://www.bakery.example")

    [result] = said["results"]
    async with database.reading() as session:
        domain = await session.scalar(select(Domain))
    assert domain is not None
    assert (domain.domain, domain.status) == ("bakery.example", "pending")
    assert result["id"] == str(domain.id)
    assert result["queued"]
    assert result["says"] == (
        "Taken as a domain: its home page is read and its sitemaps are scanned."
    )


async def test_a_sitemap_gets_a_job_that_can_be_followed(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await start(client, "https://bakery.example/sitemap_index.xml")

    [result] = said["results"]
    async with database.reading() as session:
        file, job = await session.scalar(select(SitemapFile)), await session.scalar(select(Job))
    assert file is not None
    assert job is not None
    assert (result["kind"], result["id"], result["job_id"]) == (
        "sitemap", str(file.id), str(job.id),
    )  # fmt: skip
    again = await start(client, "https://bakery.example/sitemap_index.xml")
    assert again["results"][0]["already_active"]
    assert "already" in again["results"][0]["says"]


async def test_a_page_is_queued_and_its_domain_only_stored(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await start(client, "bakery.example/kontakt")

    async with database.reading() as session:
        page, domain = await session.scalar(select(Page)), await session.scalar(select(Domain))
    assert page is not None
    assert domain is not None
    assert (page.url, page.page_processing_status) == ("https://bakery.example/kontakt", "Queued")
    assert domain.status == "new"
    assert said["results"][0]["id"] == str(page.id)


async def test_a_mixed_list_keeps_its_order_and_bad_entries_cost_no_others(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await start(
        client,
        "two words\nbakery.example\nftp://bakery.example/x\nbakery.example/sitemap.xml, "
        "bakery.example/about\nmail@bakery.example\nhttps://bakery.example/\n10.0.0.1",
    )

    assert fates(said) == [
        (None, "invalid"),
        ("domain", "created"),
        (None, "invalid"),
        ("sitemap", "created"),
        ("page", "created"),
        (None, "invalid"),
        ("domain", "duplicate"),
        (None, "invalid"),
    ]
    results = said["results"]
    assert [each["line"] for each in results] == list(range(1, 9))
    assert "space" in results[0]["says"]
    assert "Only http and https" in results[2]["says"]
    assert "e-mail address" in results[5]["says"]
    assert results[6]["says"] == "Same as line 2."
    assert results[6]["id"] == results[1]["id"]
    assert (said["accepted"], said["duplicates"], said["invalid"]) == (3, 1, 4)
    assert [await count(database, each) for each in (Domain, SitemapFile, Page)] == [1, 1, 1]


async def test_one_that_is_there_stays_as_it_is_and_one_that_was_only_stored_begins(
    client: httpx.AsyncClient, database: Database
) -> None:
    await start(client, "asked.example")
    stored = await start(client, "stored.example", queue=False)
    assert stored["queued"] == 0
    assert "not queued" in stored["results"][0]["says"]

    said = await start(client, "asked.example\nstored.example")
    assert [(each["status"], each["queued"]) for each in said["results"]] == [
        ("exists", False),
        ("exists", True),
    ]
    assert "already exists" in said["results"][0]["says"]


async def test_a_dry_run_tells_what_each_would_be_taken_for_and_stores_nothing(
    client: httpx.AsyncClient, database: Database
) -> None:
    said = await start(client, "bakery.example\nbakery.example/sitemap.xml\n?", dry_run=True)

    assert [each["kind"] for each in said["results"]] == ["domain", "sitemap", None]
    assert said["dry_run"]
    assert [await count(database, each) for each in (Domain, SitemapFile, Job)] == [0, 0, 0]


async def test_a_thousand_are_taken_and_one_more_is_led_to_the_import(
    client: httpx.AsyncClient, database: Database
) -> None:
    names = [f"site{n}.example" for n in range(1_001)]
    refused = await client.post(START, json={"text": "\n".join(names)})
    assert refused.status_code == 422
    assert "At most 1,000" in refused.json()["detail"]
    assert "CSV file" in refused.json()["detail"]
    assert await count(database, Domain) == 0

    said = await start(client, ",".join(names[:-1]))
    assert (said["created"], said["queued"]) == (1_000, 1_000)
    assert await count(database, Domain) == 1_000


@pytest.mark.parametrize("text", ["", "  \n,, ;\n"])
async def test_nothing_is_answered_with_what_to_give(client: httpx.AsyncClient, text: str) -> None:
    answer = await client.post(START, json={"text": text})
    assert answer.status_code == 422
    assert "for example example.com" in answer.json()["detail"]
    with pytest.raises(InvalidInput):
        parse_entries(text)


async def test_a_repeated_request_is_carried_out_once_and_is_in_the_audit_log(
    client: httpx.AsyncClient, database: Database
) -> None:
    body = {"text": "bakery.example\nbakery.example/contact"}
    answers = [
        await client.post(START, json=body, headers={"Idempotency-Key": "once"}) for _ in range(2)
    ]

    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["Idempotency-Replayed"] == "true"
    async with database.reading() as session:
        actions = (await session.scalars(select(AuditEntry.action).order_by(AuditEntry.id))).all()
    assert actions == ["domain.hand_in", "page.hand_in"]


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.CURATOR, 202)])
async def test_it_takes_a_curator(url: str, database: Database, role: Role, status: int) -> None:
    _, secret = await add_key(database, role=role)
    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.post(START, json={"text": "bakery.example"})
    assert answer.status_code == status
    assert await count(database, Domain) == (status == 202)
