"""What can be wrong with a stage: the one place that judges it, for health and alerts alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from scrapersky.settings import Pace, Settings

TICK_GRACE_SECONDS = 60.0


class TroubleKind(StrEnum):
    NOT_REGISTERED = "stage_not_registered"
    NO_CONSUMER = "stage_without_consumer"
    OLDEST_DUE = "oldest_due_too_old"
    NOT_TICKING = "stage_not_ticking"
    PAUSED_LONG = "stage_paused_long"


@dataclass(frozen=True)
class Trouble:
    kind: TroubleKind
    sentence: str


@dataclass(frozen=True)
class Situation:
    """What is judged: a stage at one moment."""

    states: Sequence[Mapping[str, Any]]
    """What each live worker says of the stage."""
    due: int
    oldest_ready_seconds: float | None
    """For how long a row has waited that could be worked; not one that waits for its host."""
    last_tick: datetime | None
    now: datetime
    paused_seconds: float | None


def ticks(state: Mapping[str, Any]) -> bool:
    """A process that works one row for a person holds the stage too, but does not consume it."""
    return state.get("last_tick") is not None


def troubles_of(situation: Situation, pace: Pace, settings: Settings) -> tuple[Trouble, ...]:
    """In the order an operator should look at them."""
    return (
        *_not_registered(situation),
        *_no_consumer(situation),
        *_oldest_due(situation, settings.queue_oldest_due_limit_seconds),
        *_not_ticking(situation, pace, settings.alert_ticks_missed),
        *_paused_long(situation, settings.alert_paused_seconds),
    )


def _not_registered(situation: Situation) -> Iterator[Trouble]:
    for each in situation.states:
        if "failed" in each:
            sentence = f"It could not be registered: {each['failed']}"
            yield Trouble(TroubleKind.NOT_REGISTERED, sentence)


def _no_consumer(situation: Situation) -> Iterator[Trouble]:
    if situation.due and not any(ticks(each) for each in situation.states):
        sentence = f"Rows are due ({situation.due}) and no consumer runs this stage."
        yield Trouble(TroubleKind.NO_CONSUMER, sentence)


def _oldest_due(situation: Situation, limit: float) -> Iterator[Trouble]:
    oldest = situation.oldest_ready_seconds
    if oldest is not None and oldest > limit:
        sentence = (
            f"The oldest due row that could be worked has waited for {oldest:.0f} seconds, "
            f"more than the limit of {limit:.0f}."
        )
        yield Trouble(TroubleKind.OLDEST_DUE, sentence)


def _not_ticking(situation: Situation, pace: Pace, missed: int) -> Iterator[Trouble]:
    last = situation.last_tick
    limit = missed * pace.interval_minutes * 60 + TICK_GRACE_SECONDS
    if last is not None and (situation.now - last).total_seconds() > limit:
        sentence = f"No consumer has ticked since {last:%Y-%m-%d %H:%M:%S} UTC."
        yield Trouble(TroubleKind.NOT_TICKING, sentence)


def _paused_long(situation: Situation, limit: float) -> Iterator[Trouble]:
    paused = situation.paused_seconds
    if situation.due and paused is not None and paused > limit:
        sentence = (
            f"It has been paused for {paused / 60:.0f} minutes while {situation.due} rows are due."
        )
        yield Trouble(TroubleKind.PAUSED_LONG, sentence)
