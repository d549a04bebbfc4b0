"""Good hosts alone, and beside 500 hosts that send a byte every ten seconds.

python -m benchmarks.tar_pits

Each round has a new database, in which the rows of the tar pits are due first. The clock runs until
the last good row is stored. Three cases, interleaved:

- pages of read sites: the home page of each good host was read before, by the engine itself. This
  is how pages come to be read: a site's pages are known only after something of it was read.
- pages of new hosts: nobody has answered yet, so nobody can tell them from the pits.
- home pages: every row is a site that nobody has read.

It ends with exit code 1 when pages of read sites keep less than 80 % of their undisturbed
throughput. The other two are shown: see benchmarks/README.md.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from statistics import median
from time import perf_counter

from sqlalchemy import func, select

from benchmarks.processes import Server, temporary_server
from scrapersky.contacts import extraction
from scrapersky.db.base import uuid7
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.domains import metadata
from scrapersky.logging import configure_logging
from scrapersky.models import DEFAULT_TENANT_ID, Domain, Page
from scrapersky.models.domains import METADATA_NOT_QUEUED
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import AnyStage
from scrapersky.scraper.http.urls import url_digest
from scrapersky.settings import Settings, SettingsSource, load_settings

PITS, GOOD_HOSTS, GOOD_PAGES = 500, 30, 300
GOOD_SITES = 300
"""Whose home pages are read."""
PIT_NAME = b"a-pit"
PIT_SECONDS = 10.0
"""Between two bytes of a tar pit."""
ANSWER_SECONDS = 0.2
"""That a good host takes for a page, as hosts at the other end of the web do."""
ROUNDS = 3
AT_LEAST = 0.8
PATIENCE_SECONDS = 900
TLS_HANDSHAKE = b"\x16"
PAGE = b"<html lang=en><title>Bakery</title><body>" + b"<p>We bake bread every day.</p>" * 50


# The web


async def serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while request := await read_request(reader):
                await (drip if PIT_NAME in request else give)(writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # the pits would have to be waited for


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The head of a request. Nobody speaks TLS here: good hosts close the connection at once and
    pits say nothing, told apart by the name in the handshake."""
    first = await reader.readexactly(1)
    if first == TLS_HANDSHAKE:
        greeting = await reader.read(4096)
        if PIT_NAME in greeting:
            await reader.read()
        return b""
    return first + await reader.readuntil(b"\r\n\r\n")


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


class Case(StrEnum):
    READ_SITES = "pages of read sites"
    NEW_HOSTS = "pages of new hosts"
    HOME_PAGES = "home pages"


JUDGED = (Case.READ_SITES,)


async def measure(url: str, port: int, *, pits: int, case: Case) -> float:
    """Good rows a second."""
    good = [f"good{number}.example" for number in range(max(GOOD_HOSTS, GOOD_SITES))]
    bad = [f"a-pit{number}.example" for number in range(pits)]
    settings = settings_for(url, port, [*good, *bad])
    database = Database(url, pool_size=settings.database_pool_size)
    try:
        if case is Case.HOME_PAGES:
            await add_sites(database, settings, [*bad, *good[:GOOD_SITES]], status="pending")
            return await run_stage(database, settings, metadata.STAGE, GOOD_SITES)
        good = good[:GOOD_HOSTS]
        if case is Case.READ_SITES:
            await add_sites(database, settings, good, status="pending")
            await run_stage(database, settings, metadata.STAGE, GOOD_HOSTS)
        await add_sites(database, settings, bad, status=METADATA_NOT_QUEUED)
        if case is Case.NEW_HOSTS:
            await add_sites(database, settings, good, status=METADATA_NOT_QUEUED)
        await add_pages(database, settings, bad, pages=2)
        await add_pages(database, settings, good, pages=GOOD_PAGES // GOOD_HOSTS)
        return await run_stage(database, settings, extraction.STAGE, GOOD_PAGES)
    finally:
        await database.close()


async def run_stage(
    database: Database, settings: Settings, stage: AnyStage, good_rows: int
) -> float:
    """Good rows a second, until the last of them is done."""
    async with run_engine(database, settings, [stage]) as engine:
        began = perf_counter()
        loop = asyncio.create_task(keep_running(engine.runner(stage.name)))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await count_done(database, stage) < good_rows:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        seconds = perf_counter() - began
        loop.cancel()
        with suppress(asyncio.CancelledError):
            await loop
    return good_rows / seconds


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


async def add_sites(
    database: Database, settings: Settings, names: list[str], *, status: str
) -> None:
    owned = {"tenant_id": DEFAULT_TENANT_ID, "created_by": settings.scheduler_system_user_id}
    async with database.transaction() as session:
        session.add_all(Domain(id=uuid7(), domain=each, status=status, **owned) for each in names)


async def add_pages(
    database: Database, settings: Settings, names: list[str], *, pages: int
) -> None:
    owned = {"tenant_id": DEFAULT_TENANT_ID, "created_by": settings.scheduler_system_user_id}
    async with database.transaction() as session:
        found = await session.execute(select(Domain.domain, Domain.id))
        ids = {each.domain: each.id for each in found}
        for name in names:
            for number in range(pages):
                address = f"http://{name}/{number}"
                session.add(
                    Page(
                        id=uuid7(),
                        domain_id=ids[name],
                        url=address,
                        url_digest=url_digest(address),
                        host=name,
                        path_depth=1,
                        page_type="contact",
                        page_processing_status="Queued",
                        **owned,
                    )
                )


async def count_done(database: Database, stage: AnyStage) -> int:
    name = Page.host if stage is extraction.STAGE else Domain.domain
    done = [name.startswith("good"), stage.queue.status == stage.words.done]
    if stage is extraction.STAGE:  # and not the home pages, which were read before
        done.append(Page.page_type == "contact")
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).where(*done)) or 0)


def run(server: Server, port: int) -> int:
    server.execute("CREATE DATABASE pits")
    asyncio.run(make_tables(server.url("pits")))
    rates: dict[tuple[Case, int], list[float]] = {}
    for _ in range(ROUNDS):
        for case in Case:
            for pits in (0, PITS):
                with server.copy_of("pits") as url:
                    rate = asyncio.run(measure(url, port, pits=pits, case=case))
                rates.setdefault((case, pits), []).append(rate)
                print(f"{rate:6.1f} rows/s: {case}, {pits} tar pits", flush=True)
    for case in Case:
        alone, beside = median(rates[case, 0]), median(rates[case, PITS])
        print(
            f"{case:19}: {alone:6.1f} rows/s alone, {beside:6.1f} beside {PITS} tar pits: "
            f"{beside / alone:.0%}{'' if case in JUDGED else ' (not judged)'}"
        )
    kept = {case: median(rates[case, PITS]) / median(rates[case, 0]) for case in JUDGED}
    for case, share in kept.items():
        is_kept = "yes" if share >= AT_LEAST else "NO"
        print(f"{case.capitalize()} keep at least {AT_LEAST:.0%}: {is_kept}")
    return 0 if min(kept.values()) >= AT_LEAST else 1


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
