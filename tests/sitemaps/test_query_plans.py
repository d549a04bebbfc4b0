"""Operations on one domain read few rows, however many are stored."""

from __future__ import annotations

from benchmarks.storing_many import (
    WORK_ROWS,
    Site,
    loaded,
    made,
    watched,
    with_pages,
    with_statistics,
    works,
)
from scrapersky.db.session import Database

FILES = 30
FEW = 4 * WORK_ROWS
"""A handful is stored and read at once; what reads four of them reads no whole domain."""


async def test_nothing_done_with_one_domain_reads_all_of_its_urls(database: Database) -> None:
    large = await _site(database, "large.example", files=FILES, urls_each=WORK_ROWS)
    small = await _site(database, "small.example", files=2, urls_each=WORK_ROWS)
    await with_statistics(database)
    assert FILES * WORK_ROWS > 5 * FEW

    problems = []
    for site in (large, small):
        for name, act in works(site).items():
            seen = await watched(database, act)
            if seen.reads_whole_table or seen.rows_read > FEW:
                problems.append((name, len(site.files), seen.rows_read, *seen.plans))
    assert problems == []


async def _site(database: Database, name: str, *, files: int, urls_each: int) -> Site:
    site = await made(database, name, files=files, urls_each=urls_each)
    async for _ in loaded(database, site):
        pass
    await with_pages(database, site)
    return site
