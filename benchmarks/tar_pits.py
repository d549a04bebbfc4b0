"""Pages of good hosts alone, and beside 500 hosts that send a byte every ten seconds.

python -m benchmarks.tar_pits

Each round has a new database, in which the rows of the tar pits are due first. The clock runs until
the last good page is stored. "Known" hosts have answered before, which is how an installation that
runs meets new tar pits; "unknown" ones have not, so that nobody can tell them from the pits before
they are asked. The rounds are interleaved. It ends with exit code 1 when known hosts keep less than
80 % of their undisturbed throughput.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from statistics import median
from time import perf_counter

from sqlalchemy import func, select

from benchmarks.processes import Server, temporary_server
from scrapersky.db.base import uuid7
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.models import DEFAULT_TENANT_ID, Domain, Page
from scrapersky.pages.reading import STAGE
from scrapersky.pipeline.engine import running_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import Host
from scrapersky.scraper.urls import url_digest
from scrapersky.settings import Settings, SettingsSource, load_settings

PITS, GOOD_HOSTS, GOOD_PAGES = 500, 30, 300
PIT_SECONDS = 10.0
"""Between two bytes of a tar pit."""
ANSWER_SECONDS = 0.2
"""That a good host takes for a page, as hosts at the other end of the web do."""
ROUNDS = 3
AT_LEAST = 0.8
PATIENCE_SECONDS = 900
PAGE = b"<html lang=en><title>Bakery</title><body>" + b"<p>We bake bread every day.</p>" * 50


# The web


async def serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                await (drip if b"\r\nHost: a-pit" in request else give)(writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # the pits would have to be waited for


async def drip(writer: asyncio.StreamWriter) -> None:
    for each in b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n":
        writer.write(bytes([each]))
        await writer.drain()
        await asyncio.sleep(PIT_SECONDS)


async def give(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(ANSWER_SECONDS)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(PAGE)
    writer.write(head + PAGE)
    await writer.drain()


@contextmanager
def serving() -> Iterator[int]:
    """In a process of its own, so that it costs the measured one nothing."""
    command = [sys.executable, "-m", "benchmarks.tar_pits", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


# The measured process


async def measure(url: str, port: int, *, pits: int, known: bool) -> float:
    """Good pages a second."""
    good = [f"good{number}.example" for number in range(GOOD_HOSTS)]
    bad = [f"a-pit{number}.example" for number in range(pits)]
    settings = settings_for(url, port, [*good, *bad])
    database = Database(url, pool_size=settings.database_pool_size)
    try:
        await fill(database, settings, bad, pages=2)
        await fill(database, settings, good, pages=GOOD_PAGES // GOOD_HOSTS)
        if known:
            async with database.transaction() as session:
                session.add_all(Host(host=each, is_proven=True) for each in good)
        async with running_engine(database, settings, [STAGE]) as engine:
            began = perf_counter()
            loop = asyncio.create_task(keep_running(engine.runner(STAGE.name)))
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await count_done(database) < GOOD_PAGES:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            seconds = perf_counter() - began
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await loop
        return GOOD_PAGES / seconds
    finally:
        await database.close()


async def keep_running(runner: object) -> None:
    """As the scheduler does, without its ticks."""
    while True:
        await run_job_loop(runner)  # type: ignore[arg-type]
        await asyncio.sleep(0.2)


def settings_for(url: str, port: int, names: list[str]) -> Settings:
    resolve = ",".join(f"{each}=127.0.0.1:{port}" for each in names)
    return load_settings(
        SettingsSource(environ={}, env_file=None),
        database_url=url,
        fetch_allow_networks="127.0.0.0/8",
        fetch_resolve=resolve,
        shutdown_grace_seconds=0,
    )


async def fill(database: Database, settings: Settings, names: list[str], *, pages: int) -> None:
    owned = {"tenant_id": DEFAULT_TENANT_ID, "created_by": settings.scheduler_system_user_id}
    async with database.transaction() as session:
        for name in names:
            domain = Domain(id=uuid7(), domain=name, **owned)
            session.add(domain)
            await session.flush()
            for number in range(pages):
                address = f"http://{name}/{number}"
                session.add(
                    Page(
                        id=uuid7(),
                        domain_id=domain.id,
                        url=address,
                        url_digest=url_digest(address),
                        host=name,
                        path_depth=1,
                        page_type="contact",
                        page_processing_status="Queued",
                        **owned,
                    )
                )


async def count_done(database: Database) -> int:
    done = Page.host.startswith("good"), Page.page_processing_status == "Complete"
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).where(*done)) or 0)


def run(server: Server, port: int) -> int:
    server.execute("CREATE DATABASE pits")
    asyncio.run(make_tables(server.url("pits")))
    rates: dict[tuple[bool, int], list[float]] = {}
    for _ in range(ROUNDS):
        for known in (True, False):
            for pits in (0, PITS):
                with server.copy_of("pits") as url:
                    rate = asyncio.run(measure(url, port, pits=pits, known=known))
                rates.setdefault((known, pits), []).append(rate)
                print(f"{rate:6.1f} pages/s: {known=}, {pits=}", flush=True)
    kept = {known: median(rates[known, PITS]) / median(rates[known, 0]) for known in (True, False)}
    for known, word in ((True, "known"), (False, "unknown")):
        alone, beside = median(rates[known, 0]), median(rates[known, PITS])
        print(
            f"{word:8} hosts: {alone:6.1f} pages/s alone, {beside:6.1f} beside {PITS} tar pits: "
            f"{kept[known]:.0%}"
        )
    is_kept = kept[True] >= AT_LEAST
    print(f"Known hosts keep at least {AT_LEAST:.0%}: {'yes' if is_kept else 'NO'}")
    return 0 if is_kept else 1


async def make_tables(url: str) -> None:
    database = Database(url, pool_size=2)
    await upgrade(database)
    await database.close()


def main() -> int:
    configure_logging(level="critical")
    with temporary_server() as server, serving() as port:
        return run(server, port)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        sys.exit(main())
