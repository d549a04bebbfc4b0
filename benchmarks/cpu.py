"""How much CPU time the server's processes have used, as Linux counts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STATE, PARENT, USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM = 0, 1, 11, 12, 13, 14
"""Where these stand in `/proc/PID/stat` after the process's name."""


def parent_of(pid: int) -> int:
    return int(_stat(pid)[PARENT])


def server_cpu_seconds(postmaster: int) -> float:
    """Of all its processes: those that live, and those that have ended."""
    ended = _ticks(postmaster, CHILDREN_USER, CHILDREN_SYSTEM)
    living = sum(_ticks(pid, USER, SYSTEM) for pid in _children(postmaster))
    return (ended + living) / TICKS_PER_SECOND


def _children(parent: int) -> Iterator[int]:
    for each in PROC.iterdir():
        if each.name.isdigit():
            try:
                if parent_of(int(each.name)) == parent:
                    yield int(each.name)
            except FileNotFoundError:  # it ended while we looked
                continue


def _ticks(pid: int, *fields: int) -> int:
    stat = _stat(pid)
    return sum(int(stat[field]) for field in fields)


def _stat(pid: int) -> list[str]:
    """The name stands in parentheses and may itself hold spaces and parentheses."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
