"""Run PostgreSQL's own programs on our database; passwords travel in the environment only."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from sqlalchemy.engine import URL

from scrapersky.db.opening import embedded
from scrapersky.db.session import async_url
from scrapersky.errors import DatabaseRefused
from scrapersky.settings import Settings

SAID = 500
"""Characters of a program's complaint that are passed on."""
STOP_SECONDS = 10.0
"""A program that was asked to end and has not by then is killed."""
PR_SET_PDEATHSIG = 1
"""Of prctl(2)."""
LOST_CLIENT_OPTIONS = {
    "client_connection_check_interval": "2s",
    "tcp_keepalives_idle": "15",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Settings of a tool's session. Otherwise the session of a killed tool would not notice while it
waits for a lock or works on a long statement, and would hold its own locks for as long."""


async def run_tool(settings: Settings, url: str, name: str, *arguments: str) -> None:
    """To its end; what it complains about is our complaint."""
    options = " ".join(f"-c {name}={value}" for name, value in LOST_CLIENT_OPTIONS.items())
    process = await _start(
        settings, url, name, *arguments, stderr=PIPE, dies_with_us=True, PGOPTIONS=options
    )
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
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:  # it asks the server to cancel, which may not answer
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        raise


async def _start(
    settings: Settings,
    url: str,
    name: str,
    *arguments: str,
    stderr: int | None = None,
    dies_with_us: bool = False,
    **more_env: str,
) -> Process:
    tool = embedded(settings).binaries.tool(name)
    env = {**tool_env(async_url(url), os.environ), **more_env}
    before = _build_death_signal() if dies_with_us else None
    return await asyncio.create_subprocess_exec(
        tool, *arguments, env=env, stderr=stderr, preexec_fn=before
    )


def _build_death_signal() -> Callable[[], None] | None:
    """Build what a child runs so that it is killed when this process ends, however that ends.

    No handler of ours runs when we are killed with SIGKILL or by the kernel for want of memory. A
    pg_restore that went on would commit some time later, over what was stored meanwhile.
    """
    if sys.platform != "linux":  # others have nothing like it
        return None
    libc = ctypes.CDLL(None)  # loaded before the fork, after which hardly anything is safe
    parent = os.getpid()

    def ask_for_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # we were gone before it could ask
            os._exit(1)

    return ask_for_signal


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
