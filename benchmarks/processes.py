"""The server, its databases, and the processes that are measured on it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg

from benchmarks.contenders import Name
from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 300
FACTS = ("server_version", "fsync", "synchronous_commit", "shared_buffers", "wal_level")


class Server:
    """A running server; each tool gets a database of its own on it."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address

    def url(self, database: str) -> str:
        return self._address.url.replace("/scrapersky?", f"/{database}?")

    def execute(self, statement: str) -> None:
        asyncio.run(self._fetch(statement))

    def facts(self) -> dict[str, str]:
        listed = ", ".join(f"current_setting('{each}') AS {each}" for each in FACTS)
        ((row),) = asyncio.run(self._fetch(f"SELECT {listed}"))
        return dict(row)

    @contextmanager
    def copy_of(self, template: str) -> Iterator[str]:
        name = f"{template}_{uuid4().hex[:8]}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    async def _fetch(self, statement: str) -> list[Any]:
        connection = await asyncpg.connect(self._address.url)
        try:
            return await connection.fetch(statement)
        finally:
            await connection.close()


@contextmanager
def temporary_server() -> Iterator[Server]:
    folder = Path(tempfile.gettempdir()) / f"scrapersky-bench-{uuid4().hex[:8]}"
    postgres = EmbeddedPostgres(folder)
    address = postgres.acquire()
    try:
        yield Server(address)
    finally:
        postgres.release()
        postgres.destroy()
        shutil.rmtree(folder, ignore_errors=True)


def child(act: str, tools: Mapping[Name, str], *, jobs: int = 0) -> Any:
    """Run one act to its end; what it prints is its answer."""
    done = subprocess.run(
        _command(act, tools, jobs),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    return json.loads(done.stdout)


@contextmanager
def workers(tools: Mapping[Name, str]) -> Iterator[dict[Name, dict[str, int]]]:
    """A waiting worker per tool; when the block has ended, the answer is filled in."""
    starts: dict[Name, dict[str, int]] = {}
    with ExitStack() as stack:
        running = {name: stack.enter_context(_worker(name, url)) for name, url in tools.items()}
        yield starts
        for name, process in running.items():
            told, _ = process.communicate(timeout=PATIENCE_SECONDS)
            starts[name] = json.loads(told)


@contextmanager
def _worker(name: Name, url: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        _command("work", {name: url}, 0),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", f"the worker of {name} did not start"
        yield process
    finally:
        process.kill()
        process.wait()


def _command(act: str, tools: Mapping[Name, str], jobs: int) -> list[str]:
    named = [f"{name}={url}" for name, url in tools.items()]
    return [sys.executable, "-m", "benchmarks.child", act, *named, "--jobs", str(jobs)]
