"""Importing domains one by one, as a list or as a file, with a result per entry."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.auth.service import get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.domains.service import delete_domain
from scrapersky.lists.imports import rows
from scrapersky.models import AuditEntry, Contact, Domain, Job, Page, SitemapFile, SitemapUrl
from scrapersky.scraper.http.urls import url_digest
from scrapersky.settings import Settings
from scrapersky.sitemaps import submission
from scrapersky.sitemaps.rescans import queue_due_domains
from tests.app import serving
from tests.conftest import make_settings
from tests.import_files import CSV, import_csv, refusal, statuses, submit

DOMAINS = "/api/v3/domains"


@pytest.fixture
def settings(url: str) -> Settings:
    return make_settings(url, scheduler_enabled=False, max_request_bytes=4 * 1024 * 1024)


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(settings) as client:
        yield client


async def stored(database: Database) -> dict[str, Domain]:
    async with database.reading() as session:
        return {each.domain: each for each in await session.scalars(select(Domain))}


async def test_each_row_of_a_list_is_told_what_became_of_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "domains", domains=["known.example"])
    said = await submit(
        client,
        "domains",
        domains=["https://www.New.example/x", "known.example", "new.example", "two words", 7],
    )

    assert statuses(said) == [
        (1, "created"),
        (2, "exists"),
        (3, "duplicate"),
        (4, "invalid"),
        (5, "invalid"),
    ]
    found, results = await stored(database), said["results"]
    assert set(found) == {"known.example", "new.example"}
    assert results[0]["id"] == results[2]["id"] == str(found["new.example"].id)
    assert results[1]["id"] == str(found["known.example"].id)
    assert results[2]["error"] == "Same as line 1."
    assert "space" in results[3]["error"]
    assert results[4]["error"] == "The value is not a string."
    counts = {name: value for name, value in said.items() if name != "results"}
    assert counts == {
        "accepted": 2, "created": 1, "existing": 1, "duplicates": 1, "invalid": 2, "queued": 1,
    }  # fmt: skip


async def test_queued_ones_wait_to_be_read_and_others_are_only_stored(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    await submit(client, "domains", domains=["asked.example"])
    await submit(client, "domains", domains=["kept.example"], queue=False)
    found = await stored(database)
    assert (found["asked.example"].status, found["kept.example"].status) == ("pending", "new")

    assert await queue_due_domains(database, settings) == 0, "their home pages come first"


async def test_one_that_was_only_stored_is_queued_when_it_is_handed_in_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await import_csv(client, "domains", "domain\nkept.example\n", queue=False)
    said = await import_csv(client, "domains", "domain\nkept.example\n", queue=True)

    assert statuses(said) == [(2, "exists")]
    assert said["results"][0]["queued"]
    assert (await stored(database))["kept.example"].status == "pending"


async def test_one_that_was_read_is_not_read_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "domains", domains=["read.example"])
    async with database.transaction() as session:
        (await session.scalars(select(Domain))).one().status = "completed"
    said = await submit(client, "domains", domains=["read.example"])

    assert said["queued"] == 0
    assert (await stored(database))["read.example"].status == "completed"


ODD = (
    b"company;Website;note\r\n"
    b'"Bakery\nold";bakery.example;x\r\n'
    b"IDN;m\xfcller.example;latin-1\r\n"
    b"Mail;info@bakery.example;\r\n"
    b'Formula;=HYPERLINK("http://evil.example");\r\n'
    b"Formula;@SUM(1);\r\n"
    b"Private;http://10.0.0.1/;\r\n"
    b"Private;localhost;\r\n"
    b"NUL;a\x00b.example;\r\n"
    b"Empty;;\r\n"
    b"Short\r\n"
    b"Same;WWW.Bakery.example/page;\r\n"
    b"File;ftp://bakery.example;\r\n"
)


async def test_odd_rows_cost_only_themselves(client: httpx.AsyncClient, url: str) -> None:
    strict = make_settings(url, scheduler_enabled=False, fetch_allow_networks="")
    async with serving(strict) as client:
        said = await import_csv(client, "domains", ODD)

    assert [each["line"] for each in said["results"]] == [2, *range(4, 15)]
    found = {each["line"]: each for each in said["results"]}
    assert {line for line, each in found.items() if each["status"] == "created"} == {2, 4}
    assert found[5]["error"].endswith(
        "is an e-mail address. Enter bakery.example if that is the site."
    )
    assert all(found[line]["status"] == "invalid" for line in (5, 6, 7, 8, 9, 10, 11, 12, 14))
    assert "private" in found[8]["error"]
    assert "private" in found[9]["error"]
    assert "control characters" in found[10]["error"]
    assert found[13]["status"] == "duplicate"


async def test_names_in_other_alphabets_are_stored_as_the_dns_knows_them(
    client: httpx.AsyncClient, database: Database
) -> None:
    await import_csv(client, "domains", "Webseite\nmüller.example\nпример.example\n")

    assert set(await stored(database)) == {"xn--mller-kva.example", "xn--e1afmkfd.example"}


async def test_a_file_that_cannot_be_taken_is_refused_with_a_sentence(
    client: httpx.AsyncClient, database: Database
) -> None:
    assert "422 The file is empty" in await refusal(client, "domains", b"")
    assert "a picture" in await refusal(client, "domains", b"\x89PNG\r\n\x1a\n\x00")
    assert "a header but no rows" in await refusal(client, "domains", b"domain\n")
    missing = await refusal(client, "domains", b"Name,Town\nBakery,Ulm\n")
    assert "'Name', 'Town'" in missing
    assert "website" in missing
    assert (await refusal(client, "domains", b" " * 5_000_000)).startswith("413 ")
    assert await stored(database) == {}


async def test_more_rows_than_an_answer_may_have_are_refused_and_none_is_stored(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_IMPORT_ROWS", 3)

    assert "more than 3 rows" in await refusal(client, "domains", b"a.example\n" * 4)
    assert await stored(database) == {}


@pytest.mark.parametrize("kind", ["text/csv; charset=utf-8", "application/octet-stream"])
async def test_a_file_may_say_what_it_is_in_two_ways(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post(
        f"{DOMAINS}/import-csv", content=b"domain\na.example\n", headers={"Content-Type": kind}
    )
    assert answer.status_code == 202


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json"},
        {},
    ],
)
async def test_what_a_foreign_web_page_could_send_unasked_is_refused(
    client: httpx.AsyncClient, database: Database, headers: dict[str, str]
) -> None:
    answer = await client.post(
        f"{DOMAINS}/import-csv", content=b"domain\na.example\n", headers=headers
    )
    assert answer.status_code == 415
    assert await stored(database) == {}


async def test_a_foreign_page_is_refused_whatever_it_sends(client: httpx.AsyncClient) -> None:
    foreign = {"Origin": "https://evil.example"}
    assert (await refusal(client, "domains", b"a.example", **foreign)).startswith("403 ")


async def test_a_file_is_no_way_around_the_rule_that_other_bodies_are_json(
    client: httpx.AsyncClient, database: Database
) -> None:
    answer = await client.post(
        f"{DOMAINS}/direct-submit", content=b'{"domains": ["a.example"]}', headers=CSV
    )
    assert answer.status_code == 422
    assert await stored(database) == {}


async def test_a_repeated_request_is_answered_the_same_and_stores_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    sent: dict[str, Any] = {"content": b"a.example\n", "headers": {**CSV, "Idempotency-Key": "k"}}
    first = await client.post(f"{DOMAINS}/import-csv", **sent)
    again = await client.post(f"{DOMAINS}/import-csv", **sent)

    assert first.status_code == again.status_code == 202
    assert first.json() == again.json()
    assert first.json()["created"] == 1


async def test_an_import_is_in_the_audit_log_with_its_figures(
    client: httpx.AsyncClient, database: Database
) -> None:
    await import_csv(client, "domains", "a.example\ntwo words\n", queue=False)
    async with database.reading() as session:
        entry = (await session.scalars(select(AuditEntry))).one()

    assert entry.action == "domain.hand_in"
    assert (entry.details["created"], entry.details["invalid"]) == (1, 1)
    assert entry.details["queue"] is False


async def test_a_hundred_thousand_rows_are_taken_by_one_request(
    client: httpx.AsyncClient, database: Database
) -> None:
    lines = [f"n{number};s{number % 90_000}.example" for number in range(100_000)]
    said = await import_csv(client, "domains", "name;website\n" + "\n".join(lines))

    assert (said["created"], said["duplicates"]) == (90_000, 10_000)
    assert said["results"][99_999]["id"] == said["results"][9_999]["id"]
    async with database.reading() as session:
        assert await session.scalar(select(func.count(Domain.id))) == 90_000


# Looking again, and deleting


async def add_rows(database: Database, settings: Settings, *, urls: int = 3) -> Domain:
    """A domain with something of everything below it."""
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        owned = {"tenant_id": actor.tenant_id, "created_by": actor.user_id}
        domain = Domain(id=uuid7(), domain="bakery.example", status="completed", **owned)
        session.add(domain)
        await session.flush()
        below = {"domain_id": domain.id, **owned}
        job = Job(job_type="sitemap", subject=domain.domain, params={}, **below)
        file = SitemapFile(
            id=uuid7(), url="a", url_digest=b"a", discovery_method="manual", status="ok", **below
        )
        page = Page(id=uuid7(), url="b", url_digest=b"b", path_depth=1, **below)
        session.add_all([job, file, page])
        await session.flush()
        session.add(
            Contact(
                kind="email",
                value="a@b.example",
                method="x",
                confidence=1,
                page_id=page.id,
                **below,
            )
        )
        session.add_all(
            SitemapUrl(
                sitemap_id=file.id, url=str(n), url_digest=url_digest(str(n)), first_seen=func.now()
            )
            for n in range(urls)
        )
    return domain


async def count(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


async def test_a_domain_is_deleted_with_all_that_is_below_it(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    domain = await add_rows(database, settings)
    answer = await client.delete(f"{DOMAINS}/{domain.id}")

    assert answer.status_code == 200
    assert answer.json() == {
        "domain_id": str(domain.id), "deleted_rows": 5, "cancelled_jobs": 1, "finished": True,
    }  # fmt: skip
    for model in (Domain, Job, SitemapFile, SitemapUrl, Page, Contact):
        assert await count(database, model) == 0
    assert (await client.delete(f"{DOMAINS}/{domain.id}")).status_code == 404


async def test_a_large_domain_is_deleted_in_parts_and_left_alone_in_between(
    database: Database, settings: Settings
) -> None:
    domain = await add_rows(database, settings, urls=10)
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        first = await delete_domain(session, actor, domain.id, at_most=4)
    assert (first.finished, first.deleted_rows, await count(database, SitemapUrl)) == (False, 4, 6)
    found = await stored(database)
    assert found["bakery.example"].sitemap_curation_status == "Archived"
    assert await queue_due_domains(database, settings) == 0

    finished, parts = False, 1
    while not finished:
        async with database.transaction() as session:
            finished = (await delete_domain(session, actor, domain.id, at_most=4)).finished
        parts += 1
    assert parts == 4
    assert await count(database, Domain) == 0


async def test_a_refresh_queues_both_looks_whatever_the_rhythm_says(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "domains", domains=["bakery.example"])
    async with database.transaction() as session:
        domain = (await session.scalars(select(Domain))).one()
        domain.status, domain.sitemap_analysis_status = "completed", "submitted"
        domain.last_scan, domain.next_scan_at = func.now(), func.now() + timedelta(days=7)
    answer = await client.post(f"{DOMAINS}/{domain.id}/refresh")

    assert answer.status_code == 202
    assert answer.json() == {
        "domain_id": str(domain.id),
        "metadata_queued": True,
        "sitemaps_queued": True,
        "active_job_id": None,
    }
    row = (await stored(database))["bakery.example"]
    assert (row.status, row.sitemap_analysis_status) == ("pending", "queued")


async def test_a_refreshed_domain_gets_its_scan_though_it_was_scanned_just_now(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    await submit(client, "domains", domains=["bakery.example"])
    async with database.transaction() as session:
        domain = (await session.scalars(select(Domain))).one()
        domain.last_scan, domain.next_scan_at = func.now(), func.now() + timedelta(days=7)
    await client.post(f"{DOMAINS}/{domain.id}/refresh")
    async with database.transaction() as session:
        row = await session.get_one(Domain, domain.id)
        tools: Any = type("Tools", (), {"settings": settings})()
        found = await submission.work(submission.read(row), tools)
        await submission.store(session, row, found)

    assert await count(database, Job) == 1


async def test_a_refresh_says_what_is_under_way_already(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    domain = await add_rows(database, settings)
    async with database.transaction() as session:
        (await session.get_one(Domain, domain.id)).status = "processing"
    said = (await client.post(f"{DOMAINS}/{domain.id}/refresh")).json()

    assert (said["metadata_queued"], said["sitemaps_queued"]) == (False, False)
    assert said["active_job_id"]
    assert (await client.post(f"{DOMAINS}/{uuid4()}/refresh")).status_code == 404
