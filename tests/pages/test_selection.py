"""All pages are stored with their kind, and the best few of a site are queued."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads.backfill import classify_stored_pages
from scrapersky.models import Domain, Page
from scrapersky.pages.classification import classify_urls
from scrapersky.pages.selection import PAGE_LIMIT_REASON, queue_best_pages
from scrapersky.scraper.http.urls import url_digest
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.leads.stage_runs import Run
from tests.stage_cases import OWNED

PATHS = ("/", "/impressum", "/kontakt", "/team", "/ueber-uns", "/blog/brot", "/produkt/roggen")


async def add_site(
    database: Database, *paths: str, auto_queue: bool = True, name: str = "a.example"
) -> Domain:
    urls = [f"https://{name}{path}" for path in paths]
    kinds = await classify_urls(urls, auto_queue=auto_queue)
    domain = Domain(id=uuid7(), domain=name, **OWNED)
    async with database.transaction() as session:
        session.add(domain)
        await session.flush()
        for place, url in enumerate(urls):
            values = {column: values[place] for column, values in kinds.items()}
            own = {"id": uuid7(), "domain_id": domain.id, "url": url}
            session.add(Page(url_digest=url_digest(url), **own, **values, **OWNED))
    return domain


async def pick(database: Database, domain: Domain, limit: int = 6) -> int:
    async with database.transaction() as session:
        return await queue_best_pages(session, domain.id, limit=limit)


async def statuses(database: Database) -> dict[str, str]:
    async with database.reading() as session:
        found = await session.execute(select(Page.url, Page.page_processing_status))
        return {url.removeprefix("https://a.example"): status for url, status in found}


async def test_pages_worth_reading_are_queued_and_the_others_are_filtered(
    database: Database,
) -> None:
    domain = await add_site(database, *PATHS)

    assert await pick(database, domain) == 5
    found = await statuses(database)
    assert {path for path, status in found.items() if status == "Queued"} == set(PATHS[:5])
    assert {found["/blog/brot"], found["/produkt/roggen"]} == {"Filtered"}


async def test_no_more_than_the_limit_are_queued_the_best_first(database: Database) -> None:
    domain = await add_site(database, *PATHS)

    assert await pick(database, domain, limit=2) == 2
    found = await statuses(database)
    assert {path for path, status in found.items() if status == "Queued"} == {
        "/impressum",
        "/kontakt",
    }
    async with database.reading() as session:
        reasons = set(
            await session.scalars(
                select(Page.page_processing_error).where(Page.page_type == "team")
            )
        )
    assert reasons == {PAGE_LIMIT_REASON}


async def test_what_was_read_before_takes_up_room(database: Database) -> None:
    domain = await add_site(database, *PATHS)
    async with database.transaction() as session:
        await session.execute(
            update(Page).where(Page.page_type == "team").values(page_processing_status="Complete")
        )

    assert await pick(database, domain, limit=2) == 1


async def test_picking_twice_queues_nothing_more(database: Database) -> None:
    domain = await add_site(database, *PATHS)
    await pick(database, domain)

    assert await pick(database, domain) == 0


@pytest.mark.parametrize(
    ("days_after_reading", "status"), [(-1, "Complete"), (1, "Queued"), (30, "Complete")]
)
async def test_a_page_that_changed_since_it_was_read_is_read_again(
    database: Database, days_after_reading: int, status: str
) -> None:
    """The last of these dates is in the future."""
    domain = await add_site(database, "/kontakt")
    read_at = func.now() - timedelta(days=10)
    async with database.transaction() as session:
        await session.execute(
            update(Page).values(
                page_processing_status="Complete",
                read_at=read_at,
                lastmod=read_at + timedelta(days=days_after_reading),
            )
        )
    await pick(database, domain)

    assert await statuses(database) == {"/kontakt": status}


async def test_where_people_select_nothing_is_filtered(database: Database) -> None:
    await add_site(database, *PATHS, auto_queue=False)

    assert set((await statuses(database)).values()) == {"New"}


async def test_pages_stored_without_a_kind_get_one_and_the_right_ones_are_queued(
    url: str, database: Database
) -> None:
    await add_site(database, *PATHS, auto_queue=False)
    async with database.transaction() as session:
        await session.execute(
            update(Page).values(page_type=None, page_rule=None, host="", priority_level=5)
        )

    assert await classify_stored_pages(database, make_settings(url)) == len(PATHS)

    found = await statuses(database)
    assert (found["/impressum"], found["/blog/brot"]) == ("Queued", "Filtered")
    async with database.reading() as session:
        hosts = set(await session.scalars(select(Page.host)))
    assert hosts == {"a.example"}
    assert await classify_stored_pages(database, make_settings(url)) == 0


@pytest.mark.parametrize("status", ["Complete", "Queued"])
async def test_giving_a_kind_leaves_alone_what_was_decided(
    status: str, url: str, database: Database
) -> None:
    await add_site(database, "/blog/brot")
    async with database.transaction() as session:
        await session.execute(update(Page).values(page_type=None, page_processing_status=status))

    await classify_stored_pages(database, make_settings(url))

    assert await statuses(database) == {"/blog/brot": status}


async def test_a_page_handed_to_the_stage_is_found_by_its_host(
    url: str, database: Database
) -> None:
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        page = await run.page(await run.domain("a.example"), "https://www.a.example:8443/x")

    assert page.host == "www.a.example:8443"
