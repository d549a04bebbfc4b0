"""The whole program through PgBouncer in transaction mode, with Debian's pgbouncer."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.models import Page, SitemapUrl
from tests.app import ended, scan
from tests.fake_web import FakeWeb, index, urlset
from tests.processes import HASTY, api, free_port, running
from tests.waiting import PATIENCE_SECONDS

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
MAY_BE_MISSING = os.geteuid() != 0 and "CI" not in os.environ
SITES, PAGES = 3, 40

pytestmark = pytest.mark.skipif(
    PGBOUNCER is None and MAY_BE_MISSING, reason="pgbouncer is missing: apt-get install pgbouncer"
)

CONFIG = """
[databases]
{name} = host={host} port={server_port} dbname={name} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
server_reset_query_always = 0
"""


@asynccontextmanager
async def pooler(server: ServerAddress, name: str) -> AsyncIterator[str]:
    """A URL that leads through a pooler with fewer server connections than there are clients."""
    assert PGBOUNCER is not None, "apt-get install pgbouncer"
    port = free_port()
    # Not below the test's own folder, which nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-pgbouncer-"))
    config = folder / "pgbouncer.ini"
    config.write_text(
        CONFIG.format(
            name=name, host=server.socket_dir, server_port=server.port, user=server.user, port=port
        )
    )
    folder.chmod(0o755)
    config.chmod(0o644)
    # It refuses to be root, and only the owner of the socket's folder can reach the server.
    owner: dict[str, Any] = {}
    if os.geteuid() == 0:
        owner = {"user": server.socket_dir.stat().st_uid}
    process = subprocess.Popen(
        [PGBOUNCER, str(config)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **owner
    )
    try:
        await _reachable(port)
        yield f"postgresql://{server.user}@127.0.0.1:{port}/{name}"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder)


async def _reachable(port: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def build_sites(web: FakeWeb) -> list[str]:
    names = [f"site{number}.example" for number in range(SITES)]
    for name in names:
        base = f"http://{name}"
        host = web.host(name)
        host.robots(f"Sitemap: {base}/index.xml\n")
        host.xml("/index.xml", index(f"{base}/a.xml", f"{base}/b.xml"))
        for child in "ab":
            host.xml(f"/{child}.xml", urlset(*(f"{base}/{child}/{n}" for n in range(PAGES))))
    return names


async def test_scans_run_through_a_transaction_pooler_and_workers_are_woken_beside_it(
    server: ServerAddress, url: str, database: Database, tmp_path: Path
) -> None:
    name = str(database.url.database)
    async with FakeWeb() as web, pooler(server, name) as pooled:
        names = build_sites(web)
        environ = {
            **HASTY,
            **web.environ,
            "DATABASE_URL": pooled,
            "LISTEN_DATABASE_URL": url,
            # Far away: only a notice that was heard starts the work in time.
            "SITEMAP_SCHEDULER_INTERVAL_MINUTES": "600",
            "SITEMAP_IMPORT_SCHEDULER_INTERVAL_MINUTES": "600",
        }
        async with (
            running("worker", environ=environ, log=tmp_path / "worker1.log"),
            running("worker", environ=environ, log=tmp_path / "worker2.log"),
            api({**environ, "SCHEDULER_ENABLED": "false"}, tmp_path / "api.log") as client,
        ):
            await _listening(database, processes=2)
            jobs = [await scan(client, each) for each in names]
            results = [await ended(client, each["job_id"]) for each in jobs]
            assert [each["status"] for each in results] == ["complete"] * SITES, results
            await _imported(database)
    async with database.reading() as session:
        stored = await session.scalar(select(func.count()).select_from(SitemapUrl))
    assert stored == SITES * PAGES * 2


async def _listening(database: Database, *, processes: int) -> None:
    listeners = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE application_name = 'scrapersky listener' AND datname = current_database()"
    )
    async with asyncio.timeout(PATIENCE_SECONDS), database.reading() as session:
        while int(await session.scalar(listeners) or 0) < processes:
            await asyncio.sleep(0.1)


async def _imported(database: Database) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), database.reading() as session:
        while await session.scalar(select(func.count()).select_from(Page)) != SITES * PAGES * 2:
            await asyncio.sleep(0.1)
