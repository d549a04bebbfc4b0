"""A million contacts listed, decided about and exported, beside the bare SQL: `make bench-tables`.

Everything is a ratio to the same thing done by hand in the same run, in turns with it. Ends with 1
when a promise is not kept. See README.md beside this.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any

import uvloop
from sqlalchemy import event

from benchmarks.figures import Requirement
from benchmarks.processes import ROOT, temporary_server
from benchmarks.tables_rows import actor_of, add_contacts, add_suppressions, connected
from scrapersky.contacts.listing import CONTACTS, CURATION
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.lists import BulkRequest, ListQuery
from scrapersky.lists.curation import curate
from scrapersky.logging import configure_logging
from scrapersky.models import Actor, restrict_to_tenant

AT_MOST_BARE_SELECT = 1.5
AT_MOST_BARE_UPDATE = 1.5
AT_LEAST_OF_COPY = 0.2
AT_MOST_GROWTH = 1.25
"""Times the memory of a tenth of the rows."""
SUPPRESSED = 10_000
LOOKS = 15
DEEP = 0.9
"""How far down the list, as a share of it."""
PAGE = "SELECT * FROM contacts WHERE tenant_id = $1 {} ORDER BY created_at DESC, id DESC LIMIT 51"

Act = Callable[[], Awaitable[Any]]
Statement = tuple[str, tuple[Any, ...]]
"""SQL and its values."""


def main() -> int:
    arguments = _arguments()
    configure_logging(level="warning")
    # A run that is told to end still stops its server and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with temporary_server() as server:
        server.execute("CREATE DATABASE tables")
        facts = ", ".join(f"{name} {value}" for name, value in server.facts().items())
        print(f"PostgreSQL: {facts}; {os.cpu_count()} cores; {arguments.rows:,} contacts")
        url = server.url("tables")
        uvloop.run(_prepare(url, arguments.rows))
        met = list(exports(url, arguments.rows, arguments.rounds))
        met += uvloop.run(lists(url, arguments.rows))
        met.append(uvloop.run(decisions(url, arguments.rounds)))
    for each in met:
        print(f"{'PASS' if each.met else 'FAIL'}  {each.says}: {each.measured}")
    print(f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())}")
    return 0 if all(each.met for each in met) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="contacts")
    parser.add_argument("--rounds", type=int, default=3, help="each: bare, ours")
    return parser.parse_args()


async def _prepare(url: str, rows: int) -> None:
    database = Database(url)
    await upgrade(database)
    await add_contacts(database, rows)
    await database.close()


async def _seconds(act: Act) -> float:
    started = perf_counter()
    await act()
    return perf_counter() - started


def _show(what: str, bare: float, ours: float, unit: str = "s") -> None:
    print(f"  {what:48} bare {bare:9.3f} {unit}, ours {ours:9.3f} {unit}: {ours / bare:5.2f} ×")


# Files


def exports(url: str, rows: int, rounds: int) -> Iterator[Requirement]:
    yield _as_fast_as_copy(url, rows, rounds, "")
    yield _flat(url, rows, "csv")
    yield _flat(url, rows, "xlsx")
    uvloop.run(_suppress(url))
    yield _as_fast_as_copy(url, rows, rounds, f", with {SUPPRESSED:,} suppressions")


def _as_fast_as_copy(url: str, rows: int, rounds: int, more: str) -> Requirement:
    bare, ours = [], []
    for _ in range(rounds):
        bare.append(uvloop.run(_copied(url)))
        ours.append(_export(url, rows)["seconds"])
    _show(f"all contacts as CSV{more}", median(bare), median(ours))
    share = median(bare) / median(ours)
    says = f"CSV at least {AT_LEAST_OF_COPY:g} of a bare COPY's speed{more}"
    told = f"{share:.2f}, {rows / median(ours):,.0f} rows a second"
    return Requirement(says, told, share >= AT_LEAST_OF_COPY)


def _flat(url: str, rows: int, format: str) -> Requirement:
    few, many = (_export(url, count, format)["peak_mb"] for count in (rows // 10, rows))
    says = f"memory for {rows:,} rows as {format} at most {AT_MOST_GROWTH:g} × a tenth of them"
    told = f"{many:.0f} MB against {few:.0f} MB"
    return Requirement(says, told, many <= few * AT_MOST_GROWTH)


async def _copied(url: str) -> float:
    connection = await connected(Database(url))

    async def drop(_: bytes) -> None: ...

    query = "SELECT * FROM contacts"
    try:
        return await _seconds(lambda: connection.copy_from_query(query, output=drop, format="csv"))
    finally:
        await connection.close()


def _export(url: str, newest: int, format: str = "csv") -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.tables_export", url, str(newest), format]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


async def _suppress(url: str) -> None:
    database = Database(url)
    await add_suppressions(database, SUPPRESSED)
    await database.close()


# Pages


async def lists(url: str, rows: int) -> list[Requirement]:
    """The statements a page takes beside those written by hand, on one connection; and the whole
    page as the program shows it, which is mostly its own work on fifty rows."""
    database = Database(url)
    actor, connection = await actor_of(database), await connected(database)
    deep = await connection.fetchrow(
        "SELECT created_at, id FROM contacts ORDER BY created_at DESC, id DESC OFFSET $1 LIMIT 1",
        int(rows * DEEP),
    )
    cursor = await _cursor(database, actor, deep)
    beyond = "AND (created_at, id) < ($2, $3)"
    chosen = "AND contact_curation_status = 'New'"
    mine = actor.tenant_id
    counted = "SELECT count(*) FROM (SELECT FROM contacts WHERE tenant_id = $1 LIMIT 10001) c"

    async def both(what: str, asked: ListQuery, *statements: Statement) -> Requirement:
        asking = await _statements(database, lambda: _shown(database, actor, asked))
        bare, ours, whole = [], [], []
        for _ in range(LOOKS):
            bare.append(await _seconds(lambda: _fetched(connection, statements)))
            ours.append(await _seconds(lambda: _fetched(connection, asking)))
            whole.append(await _seconds(lambda: _shown(database, actor, asked)))
        _show(f"{what}: the statement", median(bare) * 1000, median(ours) * 1000, "ms")
        _show(f"{what}: all of it", median(bare) * 1000, median(whole) * 1000, "ms")
        ratio = median(ours) / median(bare)
        says = f"{what}: at most {AT_MOST_BARE_SELECT} × the time of the bare SQL"
        return Requirement(says, f"{ratio:.2f} ×", ratio <= AT_MOST_BARE_SELECT)

    first = (PAGE.format(""), (mine,))
    status = {"contact_curation_status": ["New"]}
    met = [
        await both("the first page", ListQuery(), first),
        await both(
            "a page far down", ListQuery(cursor=cursor), (PAGE.format(beyond), (mine, *deep))
        ),
        await both("a page of a filter", ListQuery(status), (PAGE.format(chosen), (mine,))),
        await both("a page with totals", ListQuery(totals=True), first, (counted, (mine,))),
    ]
    await connection.close()
    await database.close()
    return met


async def _statements(database: Database, act: Act) -> tuple[Statement, ...]:
    """What the program asks the database for, as it asks."""
    heard: list[Statement] = []

    def hear(_c: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        heard.append((statement, tuple(values)))

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", hear)
    try:
        await act()
    finally:
        event.remove(engine, "before_cursor_execute", hear)
    return tuple(heard)


async def _cursor(database: Database, actor: Actor, place: Any) -> str:
    """Of the page that ends there, made as the list makes it."""
    since = {"created_until": place["created_at"]}
    shown = await _shown(database, actor, ListQuery(since, limit=1))
    order = CONTACTS.order(CONTACTS.default_sort)
    return order.get_position(shown.rows[0]).encode(CONTACTS._fingerprint(ListQuery()))


async def _shown(database: Database, actor: Actor, asked: ListQuery) -> Any:
    async with database.reading() as session:
        restrict_to_tenant(session, actor.tenant_id)
        return await CONTACTS.show(session, actor, asked)


async def _fetched(connection: Any, statements: tuple[Statement, ...]) -> None:
    for statement, values in statements:
        await connection.fetch(statement, *values)


# Decisions


async def decisions(url: str, rounds: int) -> Requirement:
    """All addresses at once, half of the rows; the same rows by hand with one UPDATE."""
    database = Database(url)
    actor, connection = await actor_of(database), await connected(database)
    bare, ours = [], []
    for _ in range(rounds):
        await connection.execute("VACUUM ANALYZE contacts")
        bare.append(await _seconds(lambda: connection.execute(BY_HAND, actor.tenant_id)))
        await connection.execute("VACUUM ANALYZE contacts")
        ours.append(await _seconds(lambda: _decided(database, actor)))
    await connection.close()
    await database.close()
    _show("half of the contacts decided about", median(bare), median(ours))
    ratio = median(ours) / median(bare)
    says = f"deciding by filter at most {AT_MOST_BARE_UPDATE} × a bare UPDATE"
    return Requirement(says, f"{ratio:.2f} ×", ratio <= AT_MOST_BARE_UPDATE)


BY_HAND = """
UPDATE contacts SET contact_curation_status = 'Complete', updated_at = now()
WHERE tenant_id = $1 AND kind = 'email' AND contact_curation_status <> 'Complete'
"""


async def _decided(database: Database, actor: Actor) -> None:
    asked = BulkRequest({"kind": ["email"]}, limit=1_000_000)
    async with database.transaction() as session:
        restrict_to_tenant(session, actor.tenant_id)
        done = await curate(session, actor, CURATION, "Skipped", asked)
    assert done.updated_count > 0, done


if __name__ == "__main__":
    sys.exit(main())
