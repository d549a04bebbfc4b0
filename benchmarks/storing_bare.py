"""What the same rows cost without us: COPY into a temporary table, insert-select ON CONFLICT.

python -m benchmarks.storing_bare URL CHILDREN URLS_EACH prints seconds and CPU as JSON. The rows
are parsed, with their digests, before the clock starts for them; one transaction for each child.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from time import perf_counter, process_time
from typing import Any
from uuid import UUID

import asyncpg
import uvloop

from benchmarks.cpu import parent_of, server_cpu_seconds
from benchmarks.sitemaps_documents import SITE, plain
from scrapersky.auth.service import get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database, get_libpq_url
from scrapersky.models import Domain, SitemapFile
from scrapersky.scraper.http.urls import url_digest
from scrapersky.scraper.sitemaps.parse import parse_sitemap
from scrapersky.settings import SettingsSource, load_settings

COLUMNS = (
    "sitemap_id",
    "url",
    "url_digest",
    "lastmod",
    "changefreq",
    "priority",
    "extras",
    "may_repeat",
    "first_seen",
)
TEMPORARY = (
    "CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS "
    f"SELECT {', '.join(COLUMNS)} FROM sitemap_urls WITH NO DATA"
)
INSERT = (
    f"INSERT INTO sitemap_urls AS stored ({', '.join(COLUMNS)}) "
    f"SELECT {', '.join(COLUMNS)} FROM incoming "
    "ON CONFLICT (sitemap_id, url_digest) DO UPDATE SET lastmod = EXCLUDED.lastmod, "
    "changefreq = EXCLUDED.changefreq, priority = EXCLUDED.priority, extras = EXCLUDED.extras "
    "WHERE stored.lastmod IS DISTINCT FROM EXCLUDED.lastmod "
    "OR stored.changefreq IS DISTINCT FROM EXCLUDED.changefreq "
    "OR stored.priority IS DISTINCT FROM EXCLUDED.priority "
    "OR stored.extras IS DISTINCT FROM EXCLUDED.extras"
)


async def load(url: str, children: int, urls_each: int) -> dict[str, float]:
    files = await _files(url, children)
    connection = await asyncpg.connect(get_libpq_url(Database(url).url))
    postmaster = parent_of(await connection.fetchval("SELECT pg_backend_pid()"))
    seconds = client = 0.0
    server = server_cpu_seconds(postmaster)
    for number, file in enumerate(files):
        rows = _rows(file, number * urls_each, urls_each)
        gc.collect()
        started, cpu = perf_counter(), process_time()
        async with connection.transaction():
            await connection.execute(TEMPORARY)
            await connection.copy_records_to_table("incoming", records=rows, columns=COLUMNS)
            await connection.execute(INSERT)
        seconds, client = seconds + perf_counter() - started, client + process_time() - cpu
    server = server_cpu_seconds(postmaster) - server
    stored = await connection.fetchval("SELECT count(*) FROM sitemap_urls")
    await connection.close()
    assert stored == children * urls_each, stored
    return {"seconds": seconds, "client_cpu": client, "server_cpu": server}


async def _files(url: str, children: int) -> Sequence[UUID]:
    """A domain with as many sitemap files as there are children."""
    database = Database(url)
    settings = load_settings(SettingsSource(environ={}, env_file=None))
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        owned: dict[str, Any] = {"tenant_id": actor.tenant_id, "created_by": actor.user_id}
        domain = Domain(id=uuid7(), domain=SITE, **owned)
        session.add(domain)
        await session.flush()
        files = [_file(domain.id, number, owned) for number in range(children)]
        session.add_all(files)
    await database.close()
    return [file.id for file in files]


def _file(domain_id: UUID, number: int, owned: dict[str, Any]) -> SitemapFile:
    url = f"http://{SITE}/child-{number}.xml.gz"
    return SitemapFile(
        id=uuid7(),
        domain_id=domain_id,
        url=url,
        url_digest=url_digest(url),
        status="ok",
        discovery_method="sitemap_index",
        **owned,
    )


def _rows(file: UUID, first: int, count: int) -> list[tuple[Any, ...]]:
    now = datetime.now(UTC)
    entries = parse_sitemap(plain(count, first=first), url=f"http://{SITE}/").entries
    return [
        (
            file,
            each.loc,
            url_digest(each.loc),
            each.lastmod,
            each.changefreq,
            each.priority,
            None,
            False,
            now,
        )
        for each in entries
    ]


if __name__ == "__main__":
    url, children, urls_each = sys.argv[1:]
    print(json.dumps(uvloop.run(load(url, int(children), int(urls_each)))))
