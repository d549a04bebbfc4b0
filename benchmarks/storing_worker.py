"""A real worker process, and a site handed to it as the API would hand it in."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from uuid import UUID

from sqlalchemy import Select, bindparam, func, select

from benchmarks.cpu import PROC, TICKS_PER_SECOND, parent_of, server_cpu_seconds
from benchmarks.processes import ROOT
from benchmarks.sitemaps_documents import SITE
from scrapersky.auth.service import get_system_actor
from scrapersky.db.session import Database
from scrapersky.db.statements import CompiledStatement
from scrapersky.models import Job
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.tables import Worker as WorkerRow
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.sitemaps import service

FINISHED = CompiledStatement(select(Job.finished_at).where(Job.id == bindparam("job_id")))
LOOK_EVERY_SECONDS = 0.01
START_SECONDS, SETTLE_SECONDS, SCAN_SECONDS = 60, 2, 900
PASSED_ON = ("PATH", "HOME", "PYTHONPATH")
"""Of the environment: settings of the person who measures are not meant for the worker."""
USER, SYSTEM = 11, 12
"""Where these stand in `/proc/PID/stat` after the process's name."""


@dataclass(frozen=True)
class Cost:
    """What one scan took, from handing it in to seeing it complete."""

    seconds: float
    worker_cpu: float
    server_cpu: float
    idle_mb: float
    """The worker's peak before the scan, and after it."""
    peak_mb: float

    @property
    def cpu(self) -> float:
        return self.worker_cpu + self.server_cpu


@asynccontextmanager
async def worker(url: str, port: int) -> AsyncIterator[Bench]:
    """`scrapersky worker` on that database; the site's name leads to that port."""
    with _process(url, port) as process:
        bench = Bench(url, port, process)
        try:
            await bench.wait_for_worker()
            yield bench
        finally:
            await bench.close()


@contextmanager
def _process(url: str, port: int) -> Iterator[subprocess.Popen[str]]:
    environ = {
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        "DATABASE_URL": url,
        "LOG_LEVEL": "warning",
        **scanning(port),
    }
    command = [sys.executable, "-m", "scrapersky", "worker", "--stage", SITEMAP_STAGE]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=sys.stderr, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def scanning(port: int) -> Mapping[str, str]:
    """Only this stage is measured, so nothing is handed on."""
    names = (SITE, SITE.removeprefix("www."))
    return {
        "FETCH_ALLOW_NETWORKS": "127.0.0.0/8",
        "FETCH_RESOLVE": ",".join(f"{name}=127.0.0.1:{port}" for name in names),
        "AUTO_IMPORT_SITEMAPS": "false",
        "SITEMAP_MAX_URLS_PER_DOMAIN": "20000000",
    }


class Bench:
    """Hands scans in and waits for them."""

    def __init__(self, url: str, port: int, worker: subprocess.Popen[str]) -> None:
        self.database = Database(url, pool_size=2)
        self._wakeups = Wakeups(self.database)
        self._settings = load_settings(
            SettingsSource(environ=dict(scanning(port)), env_file=None), database_url=url
        )
        self._worker, self._pid = worker, worker.pid

    async def wait_for_worker(self) -> None:
        """Until it has said that it lives, and a moment longer, until it has looked around."""
        workers = select(func.count()).select_from(WorkerRow)
        async with asyncio.timeout(START_SECONDS):
            while not await self._number(workers):
                assert self._worker.poll() is None, "the worker has ended"
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        await asyncio.sleep(SETTLE_SECONDS)

    async def close(self) -> None:
        await self._wakeups.close()
        await self.database.close()

    async def scan(self) -> tuple[Job, Cost]:
        postmaster = parent_of(await self._number(select(func.pg_backend_pid())))
        idle = self.worker_peak_mb()
        before = monotonic(), self._worker_cpu(), server_cpu_seconds(postmaster)
        job = await self._ended(await self._handed_in())
        after = monotonic(), self._worker_cpu(), server_cpu_seconds(postmaster)
        assert job.status == "complete", job.error
        seconds, worker, server = (late - early for early, late in zip(before, after, strict=True))
        return job, Cost(seconds, worker, server, idle, self.worker_peak_mb())

    async def _handed_in(self) -> UUID:
        async with self.database.transaction() as session:
            actor = await get_system_actor(session, self._settings)
            job, created = await service.request_scan(
                session, actor, self._settings, f"http://{SITE}", None
            )
        assert created
        return job.id

    async def _ended(self, job_id: UUID) -> Job:
        async with asyncio.timeout(SCAN_SECONDS):
            while True:
                if (await self.database.direct.fetch(FINISHED, {"job_id": job_id}))[0][0]:
                    break
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        async with self.database.reading() as session:
            return await session.get_one(Job, job_id)

    async def _number(self, statement: Select[int]) -> int:
        async with self.database.reading() as session:
            return int(await session.scalar(statement) or 0)

    def worker_peak_mb(self) -> float:
        lines = Path(PROC / str(self._pid) / "status").read_text().splitlines()
        kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
        return int(kilobytes) / 1024

    def _worker_cpu(self) -> float:
        stat = (PROC / str(self._pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(stat[USER]) + int(stat[SYSTEM])) / TICKS_PER_SECOND
