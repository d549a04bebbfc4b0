"""All stages asked together say what each says when it is asked alone, in a handful of queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, text

from scrapersky.dashboard.control import row_counts
from scrapersky.dashboard.control.reports import report_together, standing
from scrapersky.db.session import Database
from scrapersky.pipeline import counting
from scrapersky.pipeline.report import StageReport, report_stages
from scrapersky.pipeline.tables import StageControl, StageEvent
from scrapersky.pipeline.workers import WorkerIdentity, beat
from scrapersky.settings import Settings
from scrapersky.stages import STAGES
from tests.stage_cases import CASES


async def fill(database: Database) -> None:
    """Something of every kind: queued rows, one of them later, one held, events, a pause."""
    async with database.transaction() as session:
        for stage in STAGES:
            first, second, *_ = await CASES[stage.name].make_due(session, 4)
            held = await session.get_one(stage.model, first)
            setattr(held, stage.status, stage.words.processing)
            later = await session.get_one(stage.model, second)
            setattr(later, stage.queue.due_at.key, func.now() + timedelta(hours=1))
            session.add(StageEvent(stage=stage.name, kind="completed", durations_ms=[5, 15]))
            session.add(StageEvent(stage=stage.name, kind="failed", rows=3, error="It broke."))
        session.add(StageControl(stage=STAGES[1].name, paused=True, note="A move."))
        session.add(StageControl(stage=STAGES[2].name, pace={"concurrency": 2}))
        told = {STAGES[0].name: {"last_tick": 1_700_000_000.0, "held_back": "No room."}}
        await beat(session, WorkerIdentity(), told)


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    heard: list[str] = []

    def hear(_: Any, __: Any, statement: str, *___: Any) -> None:
        heard.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", hear)


def comparable(report: StageReport) -> dict[str, Any]:
    return {**asdict(report), "counts": dict(report.counts), "last_hour": dict(report.last_hour)}


async def test_asked_together_they_say_what_each_says_alone(
    settings: Settings, database: Database
) -> None:
    await fill(database)
    async with database.reading() as session:
        alone = await report_stages(session, STAGES, settings)
        together = await report_together(session, STAGES, settings)
    assert [comparable(each) for each in together] == [comparable(each) for each in alone]
    assert all(each.in_flight == each.overdue == 1 for each in together)


async def test_tables_that_are_not_counted_are_estimated_alike(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(database)
    async with database.engine.begin() as connection:
        await connection.execute(text("ANALYZE"))
    monkeypatch.setattr(counting, "EXACT_UP_TO", 3)
    monkeypatch.setattr(row_counts, "EXACT_UP_TO", 3)
    async with database.reading() as session:
        alone = await report_stages(session, STAGES, settings)
        with statements(database) as asked:
            together = await report_together(session, STAGES, settings)
    assert [comparable(each) for each in together] == [comparable(each) for each in alone]
    assert any(each.estimated for each in together)
    assert len(asked) == 8


async def test_six_queries_tell_all_and_three_whether_it_is_well(
    settings: Settings, database: Database
) -> None:
    async with database.reading() as session:
        with statements(database) as asked:
            await report_together(session, STAGES, settings)
        with statements(database) as asked_briefly:
            await standing(session, STAGES, settings)
    assert (len(asked), len(asked_briefly)) == (6, 3)
