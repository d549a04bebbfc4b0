"""Stored sitemaps are imported as pages: once, without a download, despite interruptions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, insert, select, text, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Page, SitemapFile, SitemapUrl
from scrapersky.models.stage_names import IMPORT_STAGE
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.wake import IN_SESSION
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http.urls import url_digest
from scrapersky.settings import Settings
from scrapersky.sitemaps import imports
from scrapersky.sitemaps.imports import build_ranges, queue_import
from tests.stage_cases import OWNED

SITE = "https://bakery.example"
MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(days=1)


@pytest.fixture
def bakery(database: Database, settings: Settings) -> Bakery:
    return Bakery(database, settings)


class Bakery:
    """A domain with sitemap files, and the stage that imports them."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self.domain_id = uuid7()

    def runner(self) -> StageRunner:
        return StageRunner(
            imports.STAGE,
            database=self.database,
            worker=WorkerIdentity(),
            tools=Tools(fetch=None, settings=self.settings),  # type: ignore[arg-type]
            settings=self.settings,
        )

    async def add_file(self, *urls: str, name: str = "sitemap.xml", **facts: Any) -> UUID:
        """A sitemap that was read, with these URLs stored."""
        url = f"{SITE}/{name}"
        known = {"status": "ok", "sitemap_type": "standard", "last_processed_at": func.now()}
        async with self.database.transaction() as session:
            if await session.get(Domain, self.domain_id) is None:
                session.add(Domain(id=self.domain_id, domain="bakery.example", **OWNED))
                await session.flush()
            file = SitemapFile(
                id=uuid7(),
                domain_id=self.domain_id,
                url=url,
                url_digest=url_digest(url),
                discovery_method="manual",
                **{**OWNED, **known, **facts},
            )
            session.add(file)
        await self.add_urls(file.id, *urls)
        return file.id

    async def add_urls(self, file_id: UUID, *urls: str, **facts: Any) -> None:
        rows = [
            {
                "sitemap_id": file_id,
                "url": url,
                "url_digest": url_digest(url),
                "first_seen": MONDAY,
                **facts,
            }
            for url in urls
        ]
        async with self.database.transaction() as session:
            if rows:
                await session.execute(insert(SitemapUrl), rows)

    async def say(self, file_id: UUID, **facts: Any) -> None:
        """A later scan found this of all of the file's URLs."""
        async with self.database.transaction() as session:
            await session.execute(
                update(SitemapUrl).where(SitemapUrl.sitemap_id == file_id).values(facts)
            )

    async def queue(self, *file_ids: UUID) -> None:
        async with self.database.transaction() as session:
            assert await queue_import(session, file_ids) == len(file_ids)

    async def import_(self, *file_ids: UUID) -> None:
        await self.queue(*file_ids)
        await run_job_loop(self.runner())

    async def file(self, file_id: UUID) -> SitemapFile:
        async with self.database.reading() as session:
            return await session.get_one(SitemapFile, file_id)

    async def pages(self) -> dict[str, Page]:
        """By what stands after the host."""
        async with self.database.reading() as session:
            found = await session.scalars(select(Page).order_by(Page.url))
            return {page.url.removeprefix(SITE): page for page in found}

    async def page_count(self) -> int:
        async with self.database.reading() as session:
            return int(await session.scalar(select(func.count()).select_from(Page)) or 0)


async def test_every_stored_url_becomes_a_page(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/", f"{SITE}/bread", f"{SITE}/cake/plum")
    await bakery.say(file_id, lastmod=MONDAY)
    await bakery.import_(file_id)

    file, pages = await bakery.file(file_id), await bakery.pages()
    assert (file.sitemap_import_status, file.sitemap_import_error) == ("Complete", None)
    assert list(pages) == ["/", "/bread", "/cake/plum"]
    page = pages["/bread"]
    assert (page.domain_id, page.sitemap_file_id) == (bakery.domain_id, file_id)
    assert (page.tenant_id, page.created_by) == (OWNED["tenant_id"], OWNED["created_by"])
    assert page.url_digest == url_digest(page.url)
    assert (page.lastmod, page.page_type, page.page_curation_status) == (MONDAY, "other", "New")


@pytest.mark.parametrize(
    ("path", "depth"),
    [
        ("", 0),
        ("/", 0),
        ("?page=/a/b", 0),
        ("#/a", 0),
        ("/a", 1),
        ("/a/", 1),
        ("/a/b.html?to=/c/d#/e", 2),
        ("//a//b/", 2),
        ("/a:b://c", 2),
    ],
)
async def test_the_depth_of_a_page_is_that_of_its_path(
    bakery: Bakery, path: str, depth: int
) -> None:
    await bakery.import_(await bakery.add_file(SITE + path))

    (page,) = (await bakery.pages()).values()
    assert page.path_depth == depth


async def test_pages_have_time_ordered_keys_of_version_7(bakery: Bakery) -> None:
    before = uuid7()
    await bakery.import_(await bakery.add_file(f"{SITE}/bread", f"{SITE}/cake"))

    ids = [page.id for page in (await bakery.pages()).values()]
    after = uuid7()
    assert {(each.version, each.variant) for each in ids} == {(before.version, before.variant)}
    assert all(before.bytes[:6] <= each.bytes[:6] <= after.bytes[:6] for each in ids)
    assert len(set(ids)) == 2


async def test_importing_twice_adds_and_changes_nothing(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread", f"{SITE}/cake")
    await bakery.import_(file_id)
    before = await written_by(bakery)
    await bakery.import_(file_id)

    assert await written_by(bakery) == before
    assert (await bakery.file(file_id)).sitemap_import_status == "Complete"


async def written_by(bakery: Bakery) -> list[Any]:
    """Which transaction wrote each page."""
    async with bakery.database.reading() as session:
        rows = await session.execute(text("SELECT id, xmin::text FROM pages"))
        return sorted(rows)


async def test_a_changed_date_changes_the_page_and_nothing_people_decided(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread")
    await bakery.say(file_id, lastmod=MONDAY)
    await bakery.import_(file_id)
    async with bakery.database.transaction() as session:
        await session.execute(update(Page).values(page_curation_status="Selected", page_type="x"))
    await bakery.say(file_id, lastmod=TUESDAY)
    await bakery.import_(file_id)

    page = (await bakery.pages())["/bread"]
    assert page.lastmod == TUESDAY
    assert (page.page_curation_status, page.page_type) == ("Selected", "x")
    assert page.updated_at > page.created_at


async def test_a_date_that_is_taken_back_is_taken_back(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread")
    await bakery.say(file_id, lastmod=TUESDAY)
    await bakery.import_(file_id)
    await bakery.say(file_id, lastmod=None)
    await bakery.import_(file_id)

    assert (await bakery.pages())["/bread"].lastmod is None


async def test_a_later_import_adds_only_what_is_new(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread")
    await bakery.import_(file_id)
    old = (await bakery.pages())["/bread"]
    await bakery.add_urls(file_id, f"{SITE}/cake")
    await bakery.import_(file_id)

    pages = await bakery.pages()
    assert list(pages) == ["/bread", "/cake"]
    assert (pages["/bread"].id, pages["/bread"].updated_at) == (old.id, old.updated_at)


async def test_a_url_in_two_sitemaps_is_one_page_of_the_one_with_the_latest_date(
    bakery: Bakery,
) -> None:
    first = await bakery.add_file(f"{SITE}/bread")
    second = await bakery.add_file(f"{SITE}/bread", name="news.xml")
    await bakery.say(first, lastmod=MONDAY)
    await bakery.say(second, lastmod=TUESDAY)
    for _ in range(2):
        await bakery.import_(first)
        await bakery.import_(second)
    settled = (await bakery.pages())["/bread"]
    await bakery.import_(first)

    assert await bakery.page_count() == 1
    page = (await bakery.pages())["/bread"]
    assert (page.sitemap_file_id, page.lastmod) == (second, TUESDAY)
    assert page.updated_at == settled.updated_at


async def test_a_page_whose_sitemap_was_deleted_is_taken_over(bakery: Bakery) -> None:
    first = await bakery.add_file(f"{SITE}/bread")
    second = await bakery.add_file(f"{SITE}/bread", name="news.xml")
    await bakery.import_(first)
    async with bakery.database.transaction() as session:
        await session.delete(await session.get_one(SitemapFile, first))
    orphan = (await bakery.pages())["/bread"]
    await bakery.import_(second)

    assert orphan.sitemap_file_id is None
    assert (await bakery.pages())["/bread"].sitemap_file_id == second


async def test_sitemaps_that_share_pages_are_imported_side_by_side(bakery: Bakery) -> None:
    urls = [f"{SITE}/{n}" for n in range(2_000)]
    there = await bakery.add_file(*urls)
    back = await bakery.add_file(*reversed(urls), name="again.xml")
    await bakery.import_(there, back)

    files = [await bakery.file(each) for each in (there, back)]
    assert [(each.sitemap_import_status, each.sitemap_import_attempts) for each in files] == [
        ("Complete", 1)
    ] * 2
    assert await bakery.page_count() == 2_000


async def test_urls_that_are_gone_are_not_imported(bakery: Bakery) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread")
    await bakery.add_urls(file_id, f"{SITE}/cake", gone_at=TUESDAY)
    await bakery.import_(file_id)

    assert list(await bakery.pages()) == ["/bread"]


async def test_a_sitemap_without_urls_is_complete(bakery: Bakery) -> None:
    file_id = await bakery.add_file()
    await bakery.import_(file_id)

    assert (await bakery.file(file_id)).sitemap_import_status == "Complete"
    assert await bakery.page_count() == 0


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"sitemap_type": "index"}, "a sitemap index"),
        ({"status": "refused", "reason": "It is HTML."}, "(refused): It is HTML."),
        ({"status": "error", "reason": "It answered 500."}, "(error): It answered 500."),
    ],
)
async def test_what_has_no_pages_is_skipped_with_a_reason(
    bakery: Bakery, facts: dict[str, Any], why: str
) -> None:
    file_id = await bakery.add_file(f"{SITE}/bread", **facts)
    await bakery.import_(file_id)

    file = await bakery.file(file_id)
    assert file.sitemap_import_status == "Complete"
    assert why in (file.sitemap_import_error or "")
    assert await bakery.page_count() == 0


async def test_a_sitemap_that_was_never_read_fails_with_what_to_do(bakery: Bakery) -> None:
    file_id = await bakery.add_file(status="reading", last_processed_at=None)
    await bakery.import_(file_id)

    file = await bakery.file(file_id)
    assert file.sitemap_import_status == "Error"
    assert "has not been read yet" in (file.sitemap_import_error or "")


# Large ones


async def add_many(bakery: Bakery, count: int) -> UUID:
    return await bakery.add_file(*(f"{SITE}/{n}" for n in range(count)))


async def test_an_import_that_lost_its_worker_halfway_is_resumed(bakery: Bakery) -> None:
    file_id = await add_many(bakery, 25_000)
    await bakery.queue(file_id)

    async def work(sitemap: Any, tools: Tools) -> AsyncIterator[Any]:
        first, second, *rest = [each async for each in imports.work(sitemap, tools)]
        yield first
        yield second  # now the first is stored
        await bakery.queue(file_id)  # and the row goes to somebody else
        for each in rest:
            yield each

    dying = bakery.runner()
    dying.stage = replace(dying.stage, work=work)
    (held,) = await dying.claim(1)
    dying.free_slots -= 1
    ended = await dying.begin(held)
    halfway = await bakery.page_count()
    await run_job_loop(bakery.runner())

    assert ended is EventKind.FENCED
    assert 8_000 < halfway < 9_000  # a third of the digests
    assert await bakery.page_count() == 25_000
    assert (await bakery.file(file_id)).sitemap_import_status == "Complete"


def test_chunks_cover_every_digest_once() -> None:
    chunks = build_ranges(25_000)

    assert len(chunks) == 3
    assert chunks[0].first == bytes(16)
    assert [each.end for each in chunks[:-1]] == [each.first for each in chunks[1:]]
    assert chunks[-1].end > b"\xff" * 16
    assert build_ranges(0) == []


# Queueing


async def test_queueing_again_starts_afresh_and_wakes_the_stage(bakery: Bakery) -> None:
    file_id = await bakery.add_file(last_processed_at=None)
    await bakery.import_(file_id)
    async with bakery.database.transaction() as session:
        await queue_import(session, [file_id])
        woken = session.info[IN_SESSION]

    file = await bakery.file(file_id)
    assert (file.sitemap_import_status, file.sitemap_import_attempts) == ("Queued", 0)
    assert file.sitemap_import_error is None
    assert woken == {IMPORT_STAGE}


async def test_queueing_nothing_wakes_nobody(bakery: Bakery) -> None:
    async with bakery.database.transaction() as session:
        assert await queue_import(session, []) == 0
        assert IN_SESSION not in session.info
