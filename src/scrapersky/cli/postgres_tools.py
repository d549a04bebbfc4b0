"""Run PostgreSQL's own programs on our database; passwords travel in the environment only."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from sqlalchemy.engine import URL

from scrapersky.db.opening import embedded
from scrapersky.db.session import async_url
from scrapersky.errors import DatabaseRefused
from scrapersky.settings import Settings

SAID = 500
"""Characters of a program's complaint that are passed on."""


async def run_tool(settings: Settings, url: str, name: str, *arguments: str) -> None:
    """To its end; what it complains about is our complaint."""
    process = await _start(settings, url, name, *arguments, stderr=PIPE)
    async with _ending_with_us(process):
        _, said = await process.communicate()
    if process.returncode:
        raise DatabaseRefused(f"{name} did not succeed: {_first_complaint(said, name)}")


async def hand_over_to(settings: Settings, url: str, name: str, *arguments: str) -> int:
    """Let a person use it; Ctrl-C is for it, not for us, who keep the server running meanwhile."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
    process = await _start(settings, url, name, *arguments)
    async with _ending_with_us(process):
        return await process.wait()


@asynccontextmanager
async def _ending_with_us(process: Process) -> AsyncIterator[None]:
    try:
        yield
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise


async def _start(
    settings: Settings, url: str, name: str, *arguments: str, stderr: int | None = None
) -> Process:
    tool = embedded(settings).binaries.tool(name)
    env = tool_env(async_url(url), os.environ)
    return await asyncio.create_subprocess_exec(tool, *arguments, env=env, stderr=stderr)


def tool_env(url: URL, environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, with the way to this database in place of any other."""
    given = {name: value for name, value in url.query.items() if isinstance(value, str)}
    way = {
        "PGHOST": url.host or given.get("host"),
        "PGPORT": str(url.port) if url.port else given.get("port"),
        "PGUSER": url.username or given.get("user"),
        "PGPASSWORD": str(url.password) if url.password else given.get("password"),
        "PGDATABASE": url.database or given.get("database"),
        "PGSSLMODE": given.get("sslmode") or given.get("ssl"),
    }
    others = {name: value for name, value in environ.items() if not name.startswith("PG")}
    return {**others, **{name: value for name, value in way.items() if value}}


def _first_complaint(said: bytes, name: str) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    text = (lines[0] if lines else "it did not say why").removeprefix(f"{name}: ")
    return text.removeprefix("error: ")[:SAID].rstrip(".") + "."
