"""Pace changes by operators, and backpressure from the stages that a stage feeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.logging import get_logger
from scrapersky.pipeline.claims import get_statements
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl
from scrapersky.settings import Pace, Settings

RESUME_RATIO = 0.7
"""Of the high-water mark: a stage that was held back claims again below this."""
DEPTH_CACHE_SECONDS = 1.0
"""How long a measured depth is believed; so many claims share one count."""
LOOK_DEADLINE_SECONDS = 30.0
"""Every claim waits for this count."""
HELD_BACK_POLL_SECONDS = 5.0
"""A stage that may not claim looks again after this, not only at its next tick."""
CHANGEABLE_FIELDS = ("interval_minutes", "batch_size", "concurrency", "high_water")
"""What an operator may change while the program runs."""

log = get_logger(__name__)


def apply_pace_changes(pace: Pace, changes: Mapping[str, Any] | None) -> Pace:
    """The pace from the settings with what an operator has changed; unknown words are ignored,
    for a newer version may have written them."""
    given = {name: value for name, value in (changes or {}).items() if name in CHANGEABLE_FIELDS}
    return replace(pace, **given)


async def load_pace_changes(
    session: AsyncSession, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What operators have changed, by stage."""
    found = await session.execute(
        select(StageControl.stage, StageControl.pace).where(
            StageControl.stage == func.any(list(names))
        )
    )
    return {stage: changes or {} for stage, changes in found}


@dataclass
class Successor:
    """A stage that goes on with what another stores, and how much may wait for it."""

    stage: AnyStage
    high_water: int
    depth: int = 0
    is_full: bool = False

    def __post_init__(self) -> None:
        claims = get_statements(self.stage)
        self._waiting = select(self.stage.model.id).where(claims.is_due(), *claims.only())

    async def measure(self, session: AsyncSession) -> None:
        """Counted no further than the mark: beyond it the number makes no difference."""
        bounded = self._waiting.limit(self.high_water).subquery()
        self.depth = int(await session.scalar(select(func.count()).select_from(bounded)) or 0)
        if self.depth >= self.high_water:
            self.is_full = True
        elif self.depth <= self.high_water * RESUME_RATIO:
            self.is_full = False

    @property
    def room(self) -> float:
        """From 1, come on, down to 0, nothing more; it shrinks between the two marks."""
        if self.is_full:
            return 0.0
        low = self.high_water * RESUME_RATIO
        return min(1.0, (self.high_water - self.depth) / (self.high_water - low))


@dataclass
class Valve:
    """Lets a stage claim as much as its successors have room for."""

    stage: AnyStage
    database: Database
    successors: tuple[Successor, ...] = ()
    held_back: str | None = None
    """Why it claims less or nothing, in a sentence; None when nothing holds it back."""
    _looked: float = field(default=-math.inf)

    is_closed: bool = False

    def set_high_water(self, stage: str, high_water: int) -> None:
        for each in self.successors:
            if each.stage.name == stage:
                each.high_water = high_water

    async def admit(self, wanted: int) -> int:
        """How many of so many rows may be claimed now."""
        if not self.successors or wanted <= 0:
            return wanted
        if monotonic() - self._looked >= DEPTH_CACHE_SECONDS:
            await self._measure_successors()
        room = min(each.room for each in self.successors)
        return math.ceil(wanted * room)

    async def _measure_successors(self) -> None:
        async with self.database.bounded_reading(LOOK_DEADLINE_SECONDS) as session:
            for each in self.successors:
                await each.measure(session)
        self._looked = monotonic()
        self._log_change(_explain_limit(self.successors))

    def _log_change(self, why: str | None) -> None:
        """Once when it begins to be held back altogether, once when it goes on."""
        was_full, is_full = self.is_closed, any(each.is_full for each in self.successors)
        self.held_back, self.is_closed = why, is_full
        if is_full and not was_full:
            log.warning("stage held back", stage=self.stage.name, why=why)
        elif was_full and not is_full:
            log.info("stage goes on", stage=self.stage.name)


def _explain_limit(successors: Sequence[Successor]) -> str | None:
    tight = min(successors, key=lambda each: each.room)
    if tight.room >= 1:
        return None
    mark = f"{tight.high_water:,} rows, the most that may wait for {tight.stage.name}"
    if tight.is_full:
        return f"There were {mark}; claiming goes on at {RESUME_RATIO:.0%} of that."
    return f"{tight.depth:,} of {mark}: claiming less."


def build_valve(
    stage: AnyStage, known: Mapping[str, AnyStage], *, database: Database, settings: Settings
) -> Valve:
    """Over the stages it feeds, as far as there are any."""
    fed = [known[name] for name in stage.feeds if name in known]
    marks = tuple(Successor(each, each.get_pace(settings).high_water) for each in fed)
    return Valve(stage, database, marks)
