"""A million URLs from the network into PostgreSQL, and looking again: `make bench-storing`.

`scan` is the real stage in a real worker process, beside a bare COPY with insert-select of the same
rows on the same server. `many` loads one domain with ten million URLs and looks at what is done
with it. Ends with 1 when a promise is not kept. See README.md beside this.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter

import uvloop

from benchmarks.figures import Requirement
from benchmarks.processes import ROOT, Server, temporary_server
from benchmarks.sitemaps_documents import URLS_PER_CHILD
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
from benchmarks.storing_plans import Watched
from benchmarks.storing_server import Served, serving_site
from benchmarks.storing_worker import Cost, worker
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging

TEMPLATE = "storing"
AT_MOST_BARE = 1.5
AT_MOST_MB = 80
AT_MOST_OF_FIRST = 0.01
RESCANS = 5
FEW = 4 * WORK_ROWS
"""Rows that work on one page, handful or child may look at, beside the child itself."""
TAKES = 5

Looks = list[tuple[Cost, dict[str, int]]]


def main() -> int:
    arguments = _arguments()
    configure_logging(level="warning")
    # A run that is told to end still stops its server and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    met: list[Requirement] = []
    with temporary_server() as server:
        server.execute(f"CREATE DATABASE {TEMPLATE}")
        asyncio.run(_prepare(server.url(TEMPLATE)))
        facts = ", ".join(f"{name} {value}" for name, value in server.facts().items())
        print(f"PostgreSQL: {facts}; {os.cpu_count()} cores")
        if arguments.part == "scan":
            met += scan(server, arguments.urls // URLS_PER_CHILD, arguments.rounds)
        else:
            with server.copy_of(TEMPLATE) as url:
                met += uvloop.run(many(url, arguments.many_urls // URLS_PER_CHILD))
    for each in met:
        print(f"{'PASS' if each.met else 'FAIL'}  {each.says}: {each.measured}")
    print(f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())}")
    return 0 if all(each.met for each in met) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storing", description=__doc__)
    parser.add_argument("part", nargs="?", default="scan", choices=["scan", "many"])
    parser.add_argument("--urls", type=int, default=1_000_000, help="of the scanned site")
    parser.add_argument("--rounds", type=int, default=1, help="each: bare, ours, bare")
    parser.add_argument("--many-urls", type=int, default=10_000_000, help="of the loaded domain")
    return parser.parse_args()


async def _prepare(url: str) -> None:
    database = Database(url)
    await upgrade(database)
    await database.close()


# A site, first and again


def scan(server: Server, children: int, rounds: int) -> Iterator[Requirement]:
    bare: list[Cost] = []
    first: list[Cost] = []
    again: Looks = []
    with serving_site(children=children, urls_each=URLS_PER_CHILD) as site:
        for _ in range(rounds):
            bare.append(_bare(server, children))
            with server.copy_of(TEMPLATE) as url:
                server.execute("CHECKPOINT")
                cost, looks = uvloop.run(_ours(url, site, children * URLS_PER_CHILD))
            first.append(cost)
            again += looks
            bare.append(_bare(server, children))
    yield from _as_fast_as_bare(first, bare)
    grown = max(each.peak_mb - each.idle_mb for each in first)
    yield Requirement(
        f"worker's memory above idle at most {AT_MOST_MB} MB",
        f"{grown:.0f} MB",
        grown <= AT_MOST_MB,
    )
    yield from _nothing_to_do(first, again, children)


def _bare(server: Server, children: int) -> Cost:
    with server.copy_of(TEMPLATE) as url:
        server.execute("CHECKPOINT")
        command = [sys.executable, "-m", "benchmarks.storing_bare"]
        command += [url, str(children), str(URLS_PER_CHILD)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout)
    cost = Cost(told["seconds"], told["client_cpu"], told["server_cpu"], 0, 0)
    _show("bare COPY and insert-select", cost)
    return cost


async def _ours(url: str, site: Served, urls: int) -> tuple[Cost, Looks]:
    async with worker(url, site.port) as bench:
        job, first = await bench.scan()
        assert job.result_data is not None
        assert job.result_data["changes"]["added"] == urls, job.result_data
        _show("first scan", first)
        site.counted()
        again: Looks = []
        for _ in range(RESCANS):
            _, cost = await bench.scan()
            again.append((cost, site.counted()))
            _show(f"rescan, {again[-1][1]}", cost)
    return first, again


def _show(what: str, cost: Cost) -> None:
    print(
        f"  {what:52} {cost.seconds:7.2f} s, CPU {cost.worker_cpu:6.2f} + {cost.server_cpu:6.2f} s"
    )


def _as_fast_as_bare(first: Sequence[Cost], bare: Sequence[Cost]) -> Iterator[Requirement]:
    wall = median(each.seconds for each in first) / median(each.seconds for each in bare)
    cpu = median(each.cpu for each in first) / median(each.cpu for each in bare)
    for what, ratio in (("time", wall), ("CPU time", cpu)):
        says = f"network to table at most {AT_MOST_BARE} × the bare load's {what}"
        yield Requirement(says, f"{ratio:.2f} ×", ratio <= AT_MOST_BARE)


def _nothing_to_do(first: Sequence[Cost], again: Looks, children: int) -> Iterator[Requirement]:
    requests = max(counted["requests"] for _, counted in again)
    sent = sum(counted["body_bytes"] for _, counted in again)
    yield Requirement(
        f"a rescan of the same asks at most {children + 2} times",
        str(requests),
        requests <= children + 2,
    )
    yield Requirement("and is sent no bodies", f"{sent} bytes", sent == 0)
    share = median(cost.seconds for cost, _ in again) / median(each.seconds for each in first)
    says = f"in at most {AT_MOST_OF_FIRST:.0%} of the first scan's time"
    yield Requirement(says, f"{share:.2%}", share <= AT_MOST_OF_FIRST)


# A domain with very many URLs


async def many(url: str, files: int) -> list[Requirement]:
    database = Database(url)
    small = await _loaded(database, "small.example", files=2)
    large = await _loaded(database, "large.example", files=files)
    for site in (small, large):
        await with_pages(database, site)
    await with_statistics(database)
    met = await _compared(database, small, large)
    await database.close()
    return met


async def _loaded(database: Database, name: str, *, files: int) -> Site:
    site = await made(database, name, files=files, urls_each=URLS_PER_CHILD)
    started = perf_counter()
    async for urls in loaded(database, site):
        if urls % 1_000_000 == 0:
            print(f"  {urls:,} URLs after {perf_counter() - started:.0f} s", flush=True)
    return site


async def _compared(database: Database, small: Site, large: Site) -> list[Requirement]:
    met = []
    acts = works(large)
    for name, act in works(small).items():
        theirs, ours = [], []
        for _ in range(TAKES):
            theirs.append(await watched(database, act))
            ours.append(await watched(database, acts[name]))
        met.append(_index_driven(name, theirs, ours))
    return met


def _index_driven(name: str, small: Sequence[Watched], large: Sequence[Watched]) -> Requirement:
    """Plans and rows are judged; times, taken in turns, are shown."""
    few, read = max(each.rows_read for each in small), max(each.rows_read for each in large)
    times = [median(each.seconds for each in takes) for takes in (small, large)]
    whole = any(each.reads_whole_table for each in large)
    told = f"{read:,} rows read, {few:,} in the small one; {times[1] / times[0]:.1f} × its time"
    met = not whole and read <= few + FEW
    return Requirement(f"{name} stays index-driven", f"{told}{', WHOLE TABLE' * whole}", met)


if __name__ == "__main__":
    sys.exit(main())
