"""The command line with real processes, a real database and a fake web."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest
from aiohttp.web import BaseRequest, Response, StreamResponse
from sqlalchemy import Select, func, select, text

from scrapersky.auth.service import get_system_actor
from scrapersky.cli.app import build_requested_app
from scrapersky.cli.errors import run_command
from scrapersky.db.embedded import ServerAddress
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.pipeline.tables import Worker
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import request_scan
from tests.databases import database_url
from tests.fake_web import FakeWeb, Handler, urlset

PROMPTLY_SECONDS = 300.0

Enqueue = Callable[[str], Awaitable[UUID]]


@dataclass(frozen=True)
class Said:
    """What a process printed and how it ended."""

    code: int
    out: str
    err: str


@dataclass
class Cli:
    """Starts `scrapersky` with nothing of the caller's environment but what a test gives."""

    environ: dict[str, str]
    running: list[Process] = field(default_factory=list)

    async def start(self, *arguments: str, **environ: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "scrapersky",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env={"PATH": os.environ["PATH"], **self.environ, **environ},
            cwd="/",
        )
        self.running.append(process)
        return process

    async def __call__(self, *arguments: str, **environ: str) -> Said:
        return await ended(await self.start(*arguments, **environ))

    async def kill_all(self) -> None:
        for each in self.running:
            if each.returncode is None:
                each.kill()
                await each.wait()


async def ended(process: Process) -> Said:
    """For commands of people: none of them ever sees a traceback."""
    said = await said_by(process)
    assert "Traceback" not in said.err, said.err
    return said


async def said_by(process: Process) -> Said:
    async with asyncio.timeout(PROMPTLY_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), err.decode())


async def stopped(process: Process, number: signal.Signals = signal.SIGTERM) -> Said:
    process.send_signal(number)
    return await ended(process)


async def until(answer: Callable[[], Awaitable[Any]]) -> Any:
    """The first answer that is something."""
    deadline = monotonic() + PROMPTLY_SECONDS
    while not (found := await answer()):
        assert monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.05)
    return found


async def asked_for(web: FakeWeb, path: str) -> bool:
    return path in web.host("bakery.example").paths


async def two_workers(rows: Database) -> bool:
    async with rows.reading() as session:
        return await session.scalar(select(func.count(Worker.id))) == 2


def after(event: asyncio.Event) -> Handler:
    """A sitemap that is answered when the test says so."""

    async def answer(request: BaseRequest) -> StreamResponse:
        await event.wait()
        return Response(text=urlset("http://bakery.example/"), content_type="application/xml")

    return answer


class Invoke(Protocol):
    def __call__(self, *arguments: str, **environ: str) -> Said: ...


@pytest.fixture
def bare_invoke(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Invoke]:
    """A command in this process, for starting a new one each time takes long; no database."""
    for name in [name for name in os.environ if name.lower() in Settings.model_fields]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environ: str) -> Said:
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            code = run_command(
                lambda: build_requested_app(arguments)(
                    [*arguments], prog_name="scrapersky", standalone_mode=False
                )
            )
        said = capfd.readouterr()
        return Said(code, said.out, said.err)

    yield run
    configure_logging(level="error")


@pytest.fixture
def invoke(bare_invoke: Invoke, url: str, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """The same with a database."""
    monkeypatch.setenv("DATABASE_URL", url)
    return bare_invoke


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        bakery = made.host("bakery.example")
        bakery.robots("Sitemap: http://bakery.example/sitemap.xml\n")
        bakery.xml("/sitemap.xml", urlset("http://bakery.example/", "http://bakery.example/bread"))
        yield made


@pytest.fixture
async def cli(url: str, web: FakeWeb) -> AsyncIterator[Cli]:
    quick = {"RETRY_BASE_SECONDS": "0.2", "WORKER_BEAT_SECONDS": "0.5"}
    made = Cli({"DATABASE_URL": url, **web.environ, **quick})
    yield made
    await made.kill_all()


@pytest.fixture
async def rows(url: str) -> AsyncIterator[Database]:
    """A second look at the database the processes use."""
    made = Database(url, pool_size=2)
    yield made
    await made.close()


@pytest.fixture
async def enqueue(url: str, web: FakeWeb, rows: Database) -> AsyncIterator[Enqueue]:
    """Ask for a scan from this process, as the API would."""
    settings = web.settings(database_url=url)
    wakeups = Wakeups(rows)

    async def ask(domain: str) -> UUID:
        async with rows.transaction() as session:
            actor = await get_system_actor(session, settings)
            job, _ = await request_scan(session, actor, settings, domain, None)
        return job.id

    yield ask
    await wakeups.close()


@pytest.fixture
async def empty_url(server: ServerAddress) -> AsyncIterator[str]:
    """A database without any tables."""
    name = f"t_{uuid4().hex}"
    admin = Database(server.url, pool_size=2)
    async with admin.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text(f"CREATE DATABASE {name}"))
        yield database_url(server, name)
        await connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    await admin.close()


@pytest.fixture
async def scanned(cli: Cli) -> None:
    """The bakery's two URLs are stored."""
    assert (await cli("scan", "bakery.example")).code == 0


@pytest.fixture
async def asked(enqueue: Enqueue) -> UUID:
    """A job that nobody works."""
    return await enqueue("bakery.example")


def from_database(url: str, statement: Select[Any]) -> list[Any]:
    """What a test that is no coroutine finds there."""

    async def read() -> list[Any]:
        database = Database(url, pool_size=2)
        async with database.reading() as session:
            found = list(await session.scalars(statement))
        await database.close()
        return found

    return asyncio.run(read())
