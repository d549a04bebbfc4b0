"""Which process is our postmaster: judged by what the kernel tells, never by its number alone."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

PROC = Path("/proc")


class Standing(StrEnum):
    """What a process number is to a cluster."""

    OURS = "ours"
    DEAD = "dead"
    FOREIGN = "foreign"
    DOUBTFUL = "doubtful"
    """A PostgreSQL server that hides which folder it serves; better not touched."""


@dataclass(frozen=True)
class Process:
    """A process by number and start time: the number alone may be used again."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        return process(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True)
class PidFile:
    """PostgreSQL's `postmaster.pid`; it fills in while the server starts."""

    pid: int
    port: int | None
    socket_dir: Path | None
    status: str
    """`starting`, `ready` or `stopping`; empty when not written yet."""


def process(pid: int) -> Process | None:
    """The living process with this number; a zombie is not one."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else Process(pid, fields[19])


def read_pid_file(cluster: Path) -> PidFile | None:
    """None when the file is missing or holds no number."""
    try:
        lines = (cluster / "postmaster.pid").read_text(errors="surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    lines += [""] * 8
    return PidFile(
        pid=pid,
        port=int(lines[3]) if lines[3].isdigit() else None,
        socket_dir=Path(lines[4]) if lines[4] else None,
        status=lines[7].strip(),
    )


def find_postmaster(cluster: Path) -> Process | None:
    """The server of this cluster, by its pid file or else by looking at every process."""
    noted = read_pid_file(cluster)
    if noted and standing(noted.pid, cluster) is Standing.OURS:
        return process(noted.pid)
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    ours = next((pid for pid in pids if standing(pid, cluster) is Standing.OURS), None)
    return process(ours) if ours else None


def standing(pid: int, cluster: Path) -> Standing:
    """Whether this number is our postmaster, somebody else's process, or nobody."""
    if process(pid) is None:
        return Standing.DEAD
    command = _command(pid)
    if not command or os.path.basename(command[0]) != "postgres":
        return Standing.FOREIGN
    # The working folder tells even when the folder was renamed under a running server,
    # but a root without CAP_SYS_PTRACE, as in containers, may not see it.
    for served in (PROC / str(pid) / "cwd", _data_argument(command)):
        if served and (same := _is_same(served, cluster)) is not None:
            return Standing.OURS if same else Standing.FOREIGN
    return Standing.DOUBTFUL


def _command(pid: int) -> list[str]:
    try:
        line = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(part) for part in line.split(b"\0")[:-1]]


def _data_argument(command: list[str]) -> Path | None:
    for option, value in pairwise(command):
        if option == "-D":
            return Path(value)
    return None


def _is_same(one: Path, other: Path) -> bool | None:
    try:
        return one.samefile(other)
    except OSError:
        return None
