"""Which tools there are. Each is imported only in the process that measures it."""

from __future__ import annotations

from enum import StrEnum

from benchmarks.contender import Contender


class Name(StrEnum):
    OURS = "ours"
    OURS_STORING = "ours_storing"
    PGQUEUER = "pgqueuer"
    PROCRASTINATE = "procrastinate"


WAITING = (Name.OURS, Name.PGQUEUER, Name.PROCRASTINATE)
"""Whose workers are measured while idle; storing comes after the start, so it is no other case."""


def contender(name: Name, url: str) -> Contender:
    if name is Name.PGQUEUER:
        from benchmarks.with_pgqueuer import WithPgqueuer

        return WithPgqueuer(url)
    if name is Name.PROCRASTINATE:
        from benchmarks.with_procrastinate import WithProcrastinate

        return WithProcrastinate(url)
    from benchmarks import ours

    return ours.Ours(url, ours.STORING if name is Name.OURS_STORING else ours.NOOP)
