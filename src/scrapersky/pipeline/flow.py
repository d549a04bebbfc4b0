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
"""Fraction of the high-water mark below which a blocked stage claims again."""
DEPTH_CACHE_SECONDS = 1.0
"""How long a measured depth is cached, so that many claims share one count."""
MEASURE_DEADLINE_SECONDS = 30.0
"""Deadline for measuring depths. Every claim waits for it."""
HELD_BACK_POLL_SECONDS = 5.0
"""How soon a blocked stage checks again, instead of waiting for its next tick."""
CHANGEABLE_FIELDS = ("interval_minutes", "batch_size", "concurrency", "high_water")
"""Pace fields that an operator may change at run time."""

log = get_logger(__name__)


def apply_pace_changes(pace: Pace, changes: Mapping[str, Any] | None) -> Pace:
    """Return the pace from the settings with an operator's changes.

    Unknown fields are ignored, because a newer version may have written them.
    """
    known = {name: value for name, value in (changes or {}).items() if name in CHANGEABLE_FIELDS}
    return replace(pace, **known)


async def load_pace_changes(
    session: AsyncSession, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the operators' changes by stage."""
    result = await session.execute(
        select(StageControl.stage, StageControl.pace).where(
            StageControl.stage == func.any(list(names))
        )
    )
    return {stage: changes or {} for stage, changes in result}


@dataclass
class Successor:
    """A downstream stage, and how many rows may wait for it."""

    stage: AnyStage
    high_water: int
    depth: int = 0
    is_full: bool = False

    def __post_init__(self) -> None:
        claims = get_statements(self.stage)
        self._waiting = select(self.stage.model.id).where(claims.is_due(), *claims.only())

    async def measure(self, session: AsyncSession) -> None:
        """Count the due rows, up to the high-water mark.

        Beyond it the number makes no difference.
        """
        bounded = self._waiting.limit(self.high_water).subquery()
        self.depth = int(await session.scalar(select(func.count()).select_from(bounded)) or 0)
        if self.depth >= self.high_water:
            self.is_full = True
        elif self.depth <= self.high_water * RESUME_RATIO:
            self.is_full = False

    @property
    def room(self) -> float:
        """The share of a claim to admit, from 0 to 1.

        It is 1 up to the low mark, and decreases linearly to 0 at the high-water mark.
        """
        if self.is_full:
            return 0.0
        low = self.high_water * RESUME_RATIO
        return min(1.0, (self.high_water - self.depth) / (self.high_water - low))


@dataclass
class Valve:
    """Limits a stage's claims to what its successors have room for."""

    stage: AnyStage
    database: Database
    successors: tuple[Successor, ...] = ()
    held_back: str | None = None
    """Why it claims less or nothing, as a sentence; None if it is not limited."""
    _measured_at: float = field(default=-math.inf)

    is_closed: bool = False

    def set_high_water(self, stage: str, high_water: int) -> None:
        for each in self.successors:
            if each.stage.name == stage:
                each.high_water = high_water

    async def admit(self, limit: int) -> int:
        """Return how many rows may be claimed now, at most `limit`."""
        if not self.successors or limit <= 0:
            return limit
        if monotonic() - self._measured_at >= DEPTH_CACHE_SECONDS:
            await self._measure_successors()
        room = min(each.room for each in self.successors)
        return math.ceil(limit * room)

    async def _measure_successors(self) -> None:
        async with self.database.bounded_reading(MEASURE_DEADLINE_SECONDS) as session:
            for each in self.successors:
                await each.measure(session)
        self._measured_at = monotonic()
        self._log_change(_explain_limit(self.successors))

    def _log_change(self, why: str | None) -> None:
        """Log once when the stage is blocked, and once when it resumes."""
        was_full, is_full = self.is_closed, any(each.is_full for each in self.successors)
        self.held_back, self.is_closed = why, is_full
        if is_full and not was_full:
            log.warning("stage limited by backpressure", stage=self.stage.name, why=why)
        elif was_full and not is_full:
            log.info("stage resumed", stage=self.stage.name)


def _explain_limit(successors: Sequence[Successor]) -> str | None:
    tight = min(successors, key=lambda each: each.room)
    if tight.room >= 1:
        return None
    mark = f"{tight.high_water:,} rows waiting for {tight.stage.name}"
    if tight.is_full:
        return f"The limit of {mark} is reached. Claiming resumes at {RESUME_RATIO:.0%} of it."
    return f"{tight.depth:,} of at most {mark}: claiming fewer rows."


def build_valve(
    stage: AnyStage, known: Mapping[str, AnyStage], *, database: Database, settings: Settings
) -> Valve:
    """Build the valve of a stage from the known stages that it feeds."""
    fed = [known[name] for name in stage.feeds if name in known]
    marks = tuple(Successor(each, each.get_pace(settings).high_water) for each in fed)
    return Valve(stage, database, marks)
