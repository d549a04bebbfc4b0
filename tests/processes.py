"""Real processes of the program, started and stopped by tests."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parent.parent
RESERVABLE_PORTS = range(20_000, 30_000)
_reserved: list[IO[str]] = []
HASTY = {
    "WORKER_BEAT_SECONDS": "0.5",
    "WORKER_DEAD_AFTER_SECONDS": "3",
    "LEASE_GRACE_SECONDS": "1",
    "RETRY_BASE_SECONDS": "0.2",
    "RETRY_CAP_SECONDS": "1",
    "SHUTDOWN_GRACE_SECONDS": "0.5",
    "LOG_LEVEL": "warning",
    "PARSER_PROCESSES": "0",
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

    async def ended(self, seconds: float = PATIENCE_SECONDS) -> int:
        async with asyncio.timeout(seconds):
            while self.process.poll() is None:
                await asyncio.sleep(0.02)
        assert self.process.returncode is not None
        return self.process.returncode


def start(
    *arguments: str,
    environ: Mapping[str, str],
    log: Path,
    prefix: Sequence[str] = (),
    module: str = "scrapersky",
) -> Program:
    said = log.open("w+b")
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **environ},
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=subprocess.STDOUT,
    )
    return Program(process, said)


@asynccontextmanager
async def running(
    *arguments: str,
    environ: Mapping[str, str],
    log: Path,
    prefix: Sequence[str] = (),
    module: str = "scrapersky",
) -> AsyncIterator[Program]:
    program = start(*arguments, environ=environ, log=log, prefix=prefix, module=module)
    try:
        yield program
    finally:
        program.send(signal.SIGCONT)
        program.send(signal.SIGKILL)
        program.process.wait()
        program.log.close()


def free_port() -> int:
    """Reserve a port of this machine for as long as this test process lives.

    A port that the kernel gave out and that was closed again may be given to anybody before our
    server binds it. These lie below the range that the kernel gives out by itself, and a lock on a
    file keeps the other test processes away from ours.
    """
    locks = Path(tempfile.gettempdir()) / f"scrapersky-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    for port in random.sample(RESERVABLE_PORTS, len(RESERVABLE_PORTS)):
        lock = (locks / str(port)).open("w")
        with suppress(OSError), socket.socket() as probe:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            _reserved.append(lock)
            return port
        lock.close()
    raise AssertionError("No port is free.")


@asynccontextmanager
async def api(environ: Mapping[str, str], log: Path) -> AsyncIterator[httpx.AsyncClient]:
    """`scrapersky serve` as a process, and a client that talks to it."""
    port = free_port()
    async with (
        running("serve", "--port", str(port), environ=environ, log=log) as program,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client,
    ):
        await answering(client, program)
        yield client


async def answering(client: httpx.AsyncClient, program: Program) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            assert program.process.poll() is None, program.said()
            with suppress(httpx.TransportError):
                if (await client.get("/health")).status_code == 200:
                    return
            await asyncio.sleep(0.05)
