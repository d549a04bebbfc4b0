"""Pages of tables over a thousand rows and over a million: `python -m benchmarks.dashboard`.

Every page is asked for in turns over both, so that whatever else the machine does meets both alike.
Ends with 1 when a promise is not kept. See README.md beside this.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from html import unescape
from statistics import median
from time import perf_counter

import httpx
import uvloop
from sqlalchemy import event

from benchmarks.figures import Requirement
from benchmarks.processes import temporary_server
from benchmarks.tables_rows import actor_of, add_contacts, connected
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.main import create_app
from scrapersky.settings import SettingsSource, load_settings

FEW = 1_000
AT_MOST_FEW = 1.5
"""Times the same page over a thousand rows."""
MOST_QUERIES = 8
MOST_BYTES = 150_000
"""Of a page with its scripts and styles, as they are sent."""
LOOKS = 40
PAGES = {
    "contacts": "/contacts",
    "contacts, the second page": "/contacts",
    "contacts of a decision": "/contacts?contact_curation_status=New",
    "contacts by value": "/contacts?sort=value",
    "leads": "/leads",
    "leads, the second page": "/leads",
}
LEADS = """
INSERT INTO leads (id, tenant_id, created_by, name, category, address, phone, website, best_email,
                   best_email_why, contacts, created_at)
SELECT uuidv7(), $1, $2, 'Business number ' || n, 'Bakery', 'High Street ' || n || ', 10115 Berlin',
       '+49309018' || n, 'https://business-' || n || '.example', 'info@b' || n || '.example',
       'The only address at the site''s own domain.', 3, now() - make_interval(secs => n)
FROM generate_series(1, $3::int) n
"""
ADDRESSES = re.compile(r'(?:src|href)="(/static/[^"#]+\.(?:js|css))"')
IMPORTED = re.compile(r'import (?:[^"]+ from )?"\./([a-z_]+\.js)"')
NEXT = re.compile(r'href="([^"]+)" data-next')
OURS: ContextVar[bool] = ContextVar("OURS", default=False)


def main() -> int:
    arguments = _arguments()
    configure_logging(level="error")
    # A run that is told to end still stops its server and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with temporary_server() as server:
        for name in ("few", "many"):
            server.execute(f"CREATE DATABASE {name}")
        facts = ", ".join(f"{name} {value}" for name, value in server.facts().items())
        print(f"PostgreSQL: {facts}; {os.cpu_count()} cores; {arguments.rows:,} rows")
        met = uvloop.run(measured(server.url("few"), server.url("many"), arguments.rows))
    for each in met:
        print(f"{'PASS' if each.met else 'FAIL'}  {each.says}: {each.measured}")
    print(f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())}")
    return 0 if all(each.met for each in met) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="contacts, and leads")
    return parser.parse_args()


async def _prepare(url: str, rows: int) -> None:
    database = Database(url)
    await upgrade(database)
    await add_contacts(database, rows)
    actor, connection = await actor_of(database), await connected(database)
    await connection.execute("SET synchronous_commit = off")
    await connection.execute(LEADS, actor.tenant_id, actor.user_id, rows)
    await connection.execute("VACUUM ANALYZE leads")
    await connection.close()
    await database.close()


@dataclass(frozen=True)
class Look:
    seconds: float
    queries: int
    html: str


class Dashboard:
    """The application over one of the databases."""

    def __init__(self, client: httpx.AsyncClient, database: Database) -> None:
        self._client, self._database = client, database

    async def look(self, address: str) -> Look:
        with self._counting() as queries:
            started = perf_counter()
            answer = await self._client.get(address)
            seconds = perf_counter() - started
        answer.raise_for_status()
        return Look(seconds, len(queries), answer.text)

    async def address_of(self, name: str) -> str:
        """The second page has another address in each database: its cursor."""
        first = PAGES[name]
        if "second page" not in name:
            return first
        found = NEXT.search((await self.look(first)).html)
        assert found, f"{name} has no second page"
        return unescape(found[1])

    async def weight(self, html: str) -> int:
        """With all it loads."""
        wanted, seen = set(ADDRESSES.findall(html)), set[str]()
        total = len(html.encode())
        while wanted - seen:
            address = min(wanted - seen)
            text = (await self._client.get(address)).text
            folder = address.rpartition("/")[0]
            wanted |= {f"{folder}/{name}" for name in IMPORTED.findall(text)}
            total += len(text.encode())
            seen.add(address)
        return total

    @contextmanager
    def _counting(self) -> Iterator[list[None]]:
        """Chores go on beside it and are not counted."""
        counted: list[None] = []

        def note(*_: object) -> None:
            if OURS.get():
                counted.append(None)

        engine, mark = self._database.engine.sync_engine, OURS.set(True)
        event.listen(engine, "before_cursor_execute", note)
        try:
            yield counted
        finally:
            event.remove(engine, "before_cursor_execute", note)
            OURS.reset(mark)


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[Dashboard]:
    source = SettingsSource(environ={}, env_file=None)
    app = create_app(load_settings(source, database_url=url, scheduler_enabled=False))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield Dashboard(client, app.state.context.database)


async def measured(few_url: str, many_url: str, rows: int) -> list[Requirement]:
    await _prepare(few_url, FEW)
    await _prepare(many_url, rows)
    async with AsyncExitStack() as stack:
        few = await stack.enter_async_context(serving(few_url))
        many = await stack.enter_async_context(serving(many_url))
        return [each for name in PAGES for each in await _compared(name, few, many, rows)]


async def _compared(name: str, few: Dashboard, many: Dashboard, rows: int) -> list[Requirement]:
    addresses = await few.address_of(name), await many.address_of(name)
    small, large = [], []
    for _ in range(LOOKS):
        small.append(await few.look(addresses[0]))
        large.append(await many.look(addresses[1]))
    one, other = (median(each.seconds for each in looks) * 1000 for looks in (small, large))
    queries = max(each.queries for each in (*small, *large))
    weight = max([await few.weight(small[0].html), await many.weight(large[0].html)])
    told = f"{other / one:.2f} × ({one:.1f} ms, {other:.1f} ms)"
    return [
        Requirement(
            f"{name}: {rows:,} rows at most {AT_MOST_FEW} ×", told, other <= one * AT_MOST_FEW
        ),
        Requirement(
            f"{name}: at most {MOST_QUERIES} queries", f"{queries}", queries <= MOST_QUERIES
        ),
        Requirement(f"{name}: below {MOST_BYTES:,} bytes", f"{weight:,}", weight < MOST_BYTES),
    ]


if __name__ == "__main__":
    sys.exit(main())
