"""Worker identity and heartbeat: one row per process."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, extract, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky import __version__
from scrapersky.db.base import uuid7
from scrapersky.pipeline.tables import Worker

PROC = Path("/proc")


def get_boot_id() -> str:
    """Identify this boot of the machine and our PID namespace.

    Containers share a boot but not their pids.
    """
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink(PROC / 'self/ns/pid')}"
    except OSError:
        return f"unknown/{uuid7()}"


def get_process_start(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command name is in parentheses and may itself contain spaces and parentheses, so split
    # after the last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True)
class WorkerIdentity:
    """Identifies a process well enough to tell, on the same machine, whether it is still alive."""

    id: UUID = field(default_factory=uuid7)
    hostname: str = field(default_factory=socket.gethostname)
    boot_id: str = field(default_factory=get_boot_id)
    pid: int = field(default_factory=os.getpid)
    pid_start: int = field(default_factory=lambda: get_process_start(os.getpid()) or 0)

    @property
    def readable(self) -> str:
        return f"{self.hostname}:{self.pid}"


async def read_clock(session: AsyncSession) -> float:
    """Return the database's time, in seconds since the epoch."""
    result = await session.execute(select(extract("epoch", func.now())))
    return float(result.scalar_one())


async def record_heartbeat(
    session: AsyncSession,
    worker: WorkerIdentity,
    stages: Mapping[str, Any] | None = None,
    vitals: Mapping[str, Any] | None = None,
) -> None:
    """Record this worker's heartbeat. Inserts its row again if others have deleted it as dead."""
    values: dict[str, Any] = {
        "id": worker.id,
        "hostname": worker.hostname,
        "boot_id": worker.boot_id,
        "pid": worker.pid,
        "pid_start": worker.pid_start,
        "version": __version__,
        "stages": dict(stages or {}),
        "vitals": dict(vitals or {}),
    }
    state = {name: values[name] for name in ("stages", "vitals")}
    await session.execute(
        insert(Worker)
        .values(values)
        .on_conflict_do_update(index_elements=[Worker.id], set_={"beat_at": func.now(), **state})
    )


def is_alive(dead_after: Any) -> ColumnElement[bool]:
    """Build the condition that a worker has sent a heartbeat lately.

    A heartbeat in the future was sent before the database's clock was set back. It proves nothing:
    the worker may have died since, and would count as alive until the clock catches up.
    """
    return and_(Worker.beat_at > func.now() - dead_after, Worker.beat_at < func.now() + dead_after)


async def reset_future_beats(session: AsyncSession, *, dead_after: timedelta) -> None:
    """Reset heartbeats that were sent before the database's clock was set back to the current time.

    Live workers then have `dead_after` to send the next one, so a clock step alone makes no worker
    look dead and causes no rescues.
    """
    future = Worker.beat_at > func.now() + dead_after
    await session.execute(update(Worker).where(future).values(beat_at=func.now()))


async def sign_off(session: AsyncSession, worker: WorkerIdentity) -> None:
    await session.execute(delete(Worker).where(Worker.id == worker.id))


async def reap_local_dead_workers(session: AsyncSession) -> list[UUID]:
    """Delete workers of this machine whose process is gone.

    There is no need to wait until their heartbeat is too old. Comparing the start time detects a
    pid that has been reused.
    """
    here = await session.scalars(select(Worker).where(Worker.boot_id == get_boot_id()))
    dead = [each.id for each in here if get_process_start(each.pid) != each.pid_start]
    if dead:
        await session.execute(delete(Worker).where(Worker.id == func.any(dead)))
    return dead
