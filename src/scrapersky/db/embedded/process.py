"""Identify the postmaster of a cluster by pid, start time and working directory."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

PROC = Path("/proc")


class PidState(StrEnum):
    """Relation of a PID to a cluster."""

    OURS = "ours"
    DEAD = "dead"
    FOREIGN = "foreign"
    DOUBTFUL = "doubtful"
    """A PostgreSQL server whose data folder cannot be determined. It must not be touched."""


@dataclass(frozen=True)
class ProcessIdentity:
    """A process by PID and start time, because a PID may be reused."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        return find_process(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        if self.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True)
class PidFile:
    """PostgreSQL's `postmaster.pid`, which the server completes while it starts."""

    pid: int
    port: int | None
    socket_dir: Path | None
    status: str
    """`starting`, `ready` or `stopping`; empty if not written yet."""


def find_process(pid: int) -> ProcessIdentity | None:
    """Return the live process with this PID, or None. Zombies do not count."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else ProcessIdentity(pid, fields[19])


def read_pid_file(cluster: Path) -> PidFile | None:
    """Read the PID file; return None if it is missing or contains no PID."""
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


def find_postmaster(cluster: Path) -> ProcessIdentity | None:
    """Return the server of this cluster, by its PID file or else by scanning all processes."""
    noted = read_pid_file(cluster)
    if noted and classify_pid(noted.pid, cluster) is PidState.OURS:
        return find_process(noted.pid)
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    ours = next((pid for pid in pids if classify_pid(pid, cluster) is PidState.OURS), None)
    return find_process(ours) if ours else None


def classify_pid(pid: int, cluster: Path) -> PidState:
    """Return whether this PID is our postmaster, another process, or dead."""
    if find_process(pid) is None:
        return PidState.DEAD
    command = _read_command_line(pid)
    if not command or os.path.basename(command[0]) != "postgres":
        return PidState.FOREIGN
    # The working directory is correct even if the folder was renamed under a running server. But
    # root without CAP_SYS_PTRACE, as in containers, may be unable to read it.
    for served in (PROC / str(pid) / "cwd", _get_data_folder(command)):
        if served and (same := _is_same_folder(served, cluster)) is not None:
            return PidState.OURS if same else PidState.FOREIGN
    return PidState.DOUBTFUL


def _read_command_line(pid: int) -> list[str]:
    try:
        line = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(part) for part in line.split(b"\0")[:-1]]


def _get_data_folder(command: list[str]) -> Path | None:
    for option, value in pairwise(command):
        if option == "-D":
            return Path(value)
    return None


def _is_same_folder(one: Path, other: Path) -> bool | None:
    try:
        return one.samefile(other)
    except OSError:
        return None
