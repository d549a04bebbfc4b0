"""Keeps an answer for a moment: many people may look at figures that are dear to find."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

TIMES_AS_LONG = 4.0
"""An answer that took a second is good for four: looking takes a fifth of the time at most."""
LONGEST_SECONDS = 30.0


@dataclass(frozen=True)
class _Kept(Generic[Answer]):
    answer: Answer
    until: float


class Keeper(Generic[Answer]):
    """Of those who ask for the same at once one finds out, and the others get the same answer."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _Kept[Answer]] = {}
        self._finding: dict[Hashable, asyncio.Lock] = {}

    async def get(self, key: Hashable, find: Callable[[], Awaitable[Answer]]) -> Answer:
        lock = self._finding.setdefault(key, asyncio.Lock())
        async with lock:
            kept = self._kept.get(key)
            if kept is not None and monotonic() < kept.until:
                return kept.answer
            began = monotonic()
            answer = await find()
            self._keep(key, answer, took=monotonic() - began)
            return answer

    def _keep(self, key: Hashable, answer: Answer, *, took: float) -> None:
        now = monotonic()
        self._kept = {each: kept for each, kept in self._kept.items() if kept.until > now}
        self._finding = {
            each: lock
            for each, lock in self._finding.items()
            if lock.locked() or each in self._kept
        }
        until = now + min(took * TIMES_AS_LONG, LONGEST_SECONDS)
        self._kept[key] = _Kept(answer, until)
