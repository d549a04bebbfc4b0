"""Real processes of the program, started and ended by tests."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

ROOT = Path(__file__).parent.parent
HASTY = {
    "WORKER_BEAT_SECONDS": "0.5",
    "WORKER_DEAD_AFTER_SECONDS": "3",
    "LEASE_GRACE_SECONDS": "1",
    "RETRY_BASE_SECONDS": "0.2",
    "RETRY_CAP_SECONDS": "1",
    "SHUTDOWN_GRACE_SECONDS": "0.5",
    "LOG_LEVEL": "warning",
}
"""Settings that make rescue and retries happen within a test's patience."""


@dataclass
class Program:
    """One process of ours, with what it said."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    async def ended(self, seconds: float = 30) -> int:
        async with asyncio.timeout(seconds):
            while self.process.poll() is None:
                await asyncio.sleep(0.02)
        assert self.process.returncode is not None
        return self.process.returncode


def start(
    *arguments: str, environ: Mapping[str, str], log: Path, prefix: Sequence[str] = ()
) -> Program:
    said = log.open("w+b")
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", "scrapersky", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environ},
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=subprocess.STDOUT,
    )
    return Program(process, said)


@asynccontextmanager
async def running(
    *arguments: str, environ: Mapping[str, str], log: Path, prefix: Sequence[str] = ()
) -> AsyncIterator[Program]:
    program = start(*arguments, environ=environ, log=log, prefix=prefix)
    try:
        yield program
    finally:
        program.send(signal.SIGCONT)
        program.send(signal.SIGKILL)
        program.process.wait()
        program.log.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def api(environ: Mapping[str, str], log: Path) -> AsyncIterator[httpx.AsyncClient]:
    """`scrapersky serve` as a process, and a client that talks to it."""
    port = free_port()
    async with (
        running("serve", "--port", str(port), environ=environ, log=log) as program,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        await answering(client, program)
        yield client


async def answering(client: httpx.AsyncClient, program: Program) -> None:
    async with asyncio.timeout(30):
        while True:
            assert program.process.poll() is None, program.said()
            with suppress(httpx.TransportError):
                if (await client.get("/health")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
