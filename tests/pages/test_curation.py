"""A page's curation status follows its processing; people set the other statuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from scrapersky.db.session import Database
from scrapersky.kinds import CURATIONS
from scrapersky.models import ENGINE_STATUSES, Domain, Page, PageCuration
from scrapersky.models.pages import PageDecision
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE
from tests.app import serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.import_files import submit
from tests.leads.stage_runs import Run, html, started
from tests.lists.rows import add_rows, curate, decisions

CONTACT = html("<h1>Kontakt</h1><a href='mailto:info@bakery.example'>Mail</a>", title="Kontakt")
OUTCOMES = {
    200: ("Complete", "Complete"),
    404: ("Filtered", "Complete"),
    500: ("Queued", "Queued"),
}


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        yield made


async def add_page(database: Database, web: FakeWeb, **more: Any) -> Run:
    run = Run(None, database, web)  # type: ignore[arg-type]
    domain = await run.domain("bakery.example", status="completed")
    await run.page(domain, "http://bakery.example/kontakt", **more)
    return run


@pytest.mark.parametrize("status", OUTCOMES)
@pytest.mark.parametrize("before", ["New", "Selected", "Queued", "Error"])
async def test_it_ends_as_the_processing_ends(
    url: str, database: Database, web: FakeWeb, status: int, before: str
) -> None:
    web.host("bakery.example").page("/kontakt", CONTACT, status=status)
    run = await add_page(database, web, page_curation_status=before)
    async with started(run, url):
        await run.work(PAGE_STAGE)

    page = await run.one(Page)
    assert (page.page_processing_status, page.page_curation_status) == OUTCOMES[status]


async def test_it_is_processing_while_a_worker_holds_the_page(
    url: str, database: Database, web: FakeWeb
) -> None:
    run = await add_page(database, web)
    async with started(run, url):
        await run.engine.runner(PAGE_STAGE).claim(1)
        page = await run.one(Page)

    assert (page.page_processing_status, page.page_curation_status) == ("Processing", "Processing")


async def test_it_is_an_error_when_the_page_is_given_up_and_queued_when_it_is_replayed(
    url: str, database: Database, web: FakeWeb, client: httpx.AsyncClient
) -> None:
    web.host("bakery.example").page("/kontakt", "oops", status=500)
    run = await add_page(database, web, page_processing_attempts=4)
    async with started(run, url):
        await run.work(PAGE_STAGE)
    given_up = await run.one(Page)
    answer = await client.post("/api/v3/dead-letters/replay", json={"all": True})
    replayed = await run.one(Page)

    assert (given_up.page_processing_status, given_up.page_curation_status) == ("Error", "Error")
    assert answer.status_code == 200, answer.text
    assert (replayed.page_processing_status, replayed.page_curation_status) == ("Queued", "Queued")


async def test_a_page_that_somebody_skipped_stays_skipped(
    url: str, database: Database, web: FakeWeb
) -> None:
    web.host("bakery.example").page("/kontakt", CONTACT)
    run = await add_page(database, web, page_curation_status="Skipped")
    async with started(run, url):
        await run.work(PAGE_STAGE)

    page = await run.one(Page)
    assert (page.page_processing_status, page.page_curation_status) == ("Complete", "Skipped")


async def test_pages_that_a_home_page_leads_to_are_queued_in_both_columns(
    url: str, database: Database, web: FakeWeb
) -> None:
    web.host("bakery.example").page("/", html("<a href='/kontakt'>Kontakt</a>"))
    run = Run(None, database, web)  # type: ignore[arg-type]
    await run.domain("bakery.example", status="pending")
    async with started(run, url):
        await run.work(METADATA_STAGE)

    found = {each.url.rpartition("/")[2]: each.page_curation_status for each in await run.all(Page)}
    assert found == {"": "Complete", "kontakt": "Queued"}


async def test_submitted_pages_are_queued_in_both_columns(
    client: httpx.AsyncClient, database: Database
) -> None:
    await submit(client, "pages", urls=["https://a.example/kontakt"], queue=True)
    await submit(client, "pages", urls=["https://b.example/kontakt"], queue=False)
    async with database.reading() as session:
        stored = await session.execute(select(Page.host, Page.page_curation_status))
        first = dict(stored.all())
    await submit(client, "pages", urls=["https://b.example/kontakt"], queue=True)
    async with database.reading() as session:
        later = set(await session.scalars(select(Page.page_curation_status)))

    assert first == {"a.example": "Queued", "b.example": "New"}
    assert later == {"Queued"}


async def test_undoing_a_decision_tells_what_the_processing_came_to_meanwhile(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(
        database, "page", 1, page_curation_status="Queued", page_processing_status="Queued"
    )
    await curate(client, "page", "Skipped", ids=ids)
    async with database.transaction() as session:
        await session.execute(update(Page).values(page_processing_status="Complete"))
    await client.post("/api/v3/bulk-actions/undo", json={})

    assert await decisions(database, "page", ids) == ["Complete"]


@pytest.mark.parametrize("kind", ["pages", "contacts"])
@pytest.mark.parametrize("word", sorted(ENGINE_STATUSES))
@pytest.mark.parametrize("which", [{"all": True}, {"ids": "one"}, {"filter": {"search": "e"}}])
async def test_nobody_sets_a_word_of_the_engine(
    client: httpx.AsyncClient, database: Database, kind: str, word: str, which: dict[str, Any]
) -> None:
    (row_id,) = await add_rows(database, kind[:-1], 1)
    named = {"ids": [str(row_id)]} if "ids" in which else which
    answer = await client.post(f"/api/v3/{kind}/curate", json={"status": word, **named})

    assert answer.status_code == 422
    assert "'New', 'Selected' or 'Skipped'" in answer.json()["detail"]
    assert await decisions(database, kind[:-1], [row_id]) == ["New"]


async def test_a_single_contact_takes_no_word_of_the_engine(
    client: httpx.AsyncClient, database: Database
) -> None:
    (row_id,) = await add_rows(database, "contact", 1)
    path = f"/api/v3/contacts/{row_id}"
    refused = await client.patch(path, json={"contact_curation_status": "Complete"})
    taken = await client.patch(path, json={"contact_curation_status": "Skipped"})

    assert (refused.status_code, taken.status_code) == (422, 200)
    assert "'New', 'Selected' or 'Skipped'" in refused.json()["detail"]


async def test_rows_can_be_found_by_every_word(client: httpx.AsyncClient) -> None:
    for word in PageCuration:
        listed = await client.get("/api/v3/pages", params={"page_curation_status": word})
        assert listed.status_code == 200


def test_people_choose_among_the_words_that_the_engine_does_not_set() -> None:
    assert {each.value for each in PageDecision} == {*PageCuration} - ENGINE_STATUSES
    assert [each.kind for each in CURATIONS if ENGINE_STATUSES & set(each.decisions)] == []


async def test_selecting_a_domain_that_was_scanned_lately_says_that_no_scan_is_made(
    client: httpx.AsyncClient, database: Database
) -> None:
    lately, never = await add_rows(database, "domain", 2)
    async with database.transaction() as session:
        domain = await session.get_one(Domain, lately)
        domain.last_scan = domain.created_at
        domain.next_scan_at = domain.created_at + domain.scan_interval
    both = await curate(client, "domain", "Selected", ids=[lately, never])
    await client.post("/api/v3/bulk-actions/undo", json={})
    only = await curate(client, "domain", "Selected", ids=[never])

    assert both["message"] == (
        "No new scan: 1 domain was scanned within the rescan interval. To scan now: "
        "`scrapersky scan DOMAIN`, POST /api/v3/sitemap/scan, "
        "or Scan its sitemaps on the domain's page."
    )
    assert only["message"] is None
