"""Bulk writes: COPY for new rows, an upsert otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.copy import CopyResult, copy_insert, copy_upsert, mark_missing
from scrapersky.db.session import Database
from scrapersky.models import Domain, SitemapFile, SitemapUrl
from scrapersky.scraper.http.urls import url_digest
from tests.stage_cases import OWNED

COLUMNS = ("sitemap_id", "url", "url_digest", "changefreq", "first_seen")
NOW = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture
async def sitemap_id(database: Database) -> UUID:
    domain = Domain(id=uuid7(), domain="bakery.example", **OWNED)
    url = "https://bakery.example/sitemap.xml"
    file = SitemapFile(
        id=uuid7(),
        domain_id=domain.id,
        url=url,
        url_digest=url_digest(url),
        discovery_method="manual",
        status="ok",
        **OWNED,
    )
    async with database.transaction() as session:
        session.add(domain)
        await session.flush()
        session.add(file)
    return file.id


def records(sitemap_id: UUID, *pages: str, changefreq: str = "daily") -> list[tuple[Any, ...]]:
    urls = [f"https://bakery.example/{page}" for page in pages]
    return [(sitemap_id, url, url_digest(url), changefreq, NOW) for url in urls]


async def add(session: AsyncSession, rows: list[tuple[Any, ...]]) -> int | None:
    await session.execute(text("SELECT 1"))
    return await copy_insert(session, SitemapUrl, COLUMNS, rows)


async def upsert(session: AsyncSession, rows: list[tuple[Any, ...]]) -> CopyResult:
    return await copy_upsert(
        session,
        SitemapUrl,
        COLUMNS,
        rows,
        key=("sitemap_id", "url_digest"),
        changing=("changefreq",),
    )


async def stored(database: Database) -> dict[str, str | None]:
    statement = select(SitemapUrl.url, SitemapUrl.changefreq).where(SitemapUrl.gone_at.is_(None))
    async with database.reading() as session:
        rows = await session.execute(statement)
        return {url.rpartition("/")[2]: changefreq for url, changefreq in rows}


async def test_new_rows_go_straight_in(database: Database, sitemap_id: UUID) -> None:
    async with database.transaction() as session:
        assert await add(session, records(sitemap_id, "bread", "cake")) == 2
    assert await stored(database) == {"bread": "daily", "cake": "daily"}


async def test_where_one_is_there_already_none_goes_in_and_the_transaction_lives_on(
    database: Database, sitemap_id: UUID
) -> None:
    async with database.transaction() as session:
        await add(session, records(sitemap_id, "bread"))
    async with database.transaction() as session:
        assert await add(session, records(sitemap_id, "bun", "bread", "cake")) is None
        assert await add(session, records(sitemap_id, "tart")) == 1
    assert sorted(await stored(database)) == ["bread", "tart"]


async def test_an_upsert_counts_what_it_added_and_what_it_changed(
    database: Database, sitemap_id: UUID
) -> None:
    async with database.transaction() as session:
        await add(session, records(sitemap_id, "bread", "cake"))
    weekly = records(sitemap_id, "cake", changefreq="weekly")
    async with database.transaction() as session:
        written = await upsert(session, records(sitemap_id, "bread", "bun", "bun") + weekly)

    assert written == CopyResult(added=1, changed=1)
    assert await stored(database) == {"bread": "daily", "bun": "daily", "cake": "weekly"}


async def test_what_is_missing_is_gone_and_what_comes_back_is_not(
    database: Database, sitemap_id: UUID
) -> None:
    present = [(url_digest("https://bakery.example/bread"),)]
    async with database.transaction() as session:
        await add(session, records(sitemap_id, "bread", "cake"))
        gone = await mark_missing(
            session, SitemapUrl, parent="sitemap_id", parent_id=sitemap_id, digests=present
        )
    assert gone == 1
    assert list(await stored(database)) == ["bread"]
    async with database.transaction() as session:
        back = await upsert(session, records(sitemap_id, "bread", "cake"))
    assert back == CopyResult(added=0, changed=1)
    assert sorted(await stored(database)) == ["bread", "cake"]
