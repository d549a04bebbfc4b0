"""The command line as people use it: real processes, a real database, a web of oddities."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest

from scrapersky.db.session import Database
from tests.fake_web import FakeWeb, urlset

PROMPTLY_SECONDS = 30.0


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
    async with asyncio.timeout(PROMPTLY_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    said = Said(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in said.err, said.err
    return said


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
