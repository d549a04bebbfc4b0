"""A worker that was itself disconnected does not consider the others dead."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from sqlalchemy import func, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.rescue import Rescuer
from scrapersky.pipeline.tables import Worker
from scrapersky.pipeline.wake import Wakeups
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.noop import NOOP, NoopRow
from tests.stage_cases import prepare

BEAT, DEAD_AFTER = 15.0, 60.0


@dataclass
class Clock:
    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def patient(url: str) -> Settings:
    return make_settings(url, worker_beat_seconds=BEAT, worker_dead_after_seconds=DEAD_AFTER)


@pytest.fixture
async def rescuer(database: Database, patient: Settings) -> tuple[Rescuer, Clock]:
    """One row is held by a worker that has been silent for too long."""
    await prepare(database)
    silent, clock = WorkerIdentity(pid_start=-1, boot_id="another machine"), Clock()
    held = NoopRow(status="processing")
    async with database.transaction() as session:
        await workers.record_heartbeat(session, silent)
        long_ago = func.now() - timedelta(seconds=DEAD_AFTER + 1)
        await session.execute(update(Worker).values(beat_at=long_ago))
        session.add(held)
        await session.flush()
        lease = {
            "lease_token": uuid7(),
            "worker_id": silent.id,
            "lease_expires_at": func.now() + timedelta(hours=1),
        }
        await session.execute(update(NoopRow).values(lease))
    return Rescuer(database, patient, [NOOP], WorkerIdentity(), clock), clock


async def test_whoever_has_just_started_judges_at_once(rescuer: tuple[Rescuer, Clock]) -> None:
    judge, _ = rescuer
    judge.note_beat()

    assert await judge.rescue() == 1


async def test_whoever_beats_as_usual_judges(rescuer: tuple[Rescuer, Clock]) -> None:
    judge, clock = rescuer
    for _ in range(3):
        judge.note_beat()
        clock.seconds += BEAT

    assert await judge.rescue() == 1


async def test_whoever_was_away_gives_the_others_time_to_speak(
    rescuer: tuple[Rescuer, Clock],
) -> None:
    judge, clock = rescuer
    judge.note_beat()
    clock.seconds += DEAD_AFTER
    before_it_spoke_itself = await judge.rescue()
    judge.note_beat()
    clock.seconds += BEAT
    judge.note_beat()
    soon_after = await judge.rescue()
    clock.seconds += BEAT
    judge.note_beat()

    assert (before_it_spoke_itself, soon_after) == (0, 0)
    assert await judge.rescue() == 1


async def test_a_database_clock_set_back_makes_no_worker_look_dead_and_none_immortal(
    rescuer: tuple[Rescuer, Clock], database: Database
) -> None:
    judge, _ = rescuer
    await move_beats(database, timedelta(hours=1))
    right_after_the_step = await judge.rescue()
    await move_beats(database, -timedelta(seconds=DEAD_AFTER + 1))

    assert right_after_the_step == 0
    assert await judge.rescue() == 1


async def move_beats(database: Database, by: timedelta) -> None:
    async with database.transaction() as session:
        await session.execute(update(Worker).values(beat_at=Worker.beat_at + by))


async def test_every_heartbeat_is_noted(database: Database, patient: Settings) -> None:
    worker = WorkerIdentity()
    wakeups = Wakeups(database)
    engine = Engine(database, patient, [], wakeups=wakeups, fetch=None, worker=worker)  # type: ignore[arg-type]
    noted: list[bool] = []
    engine.rescuer.note_beat = lambda: noted.append(True)  # type: ignore[method-assign]
    await engine.beat()
    await engine.stop()
    await wakeups.close()

    assert noted == [True]
