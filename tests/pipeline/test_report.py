"""The status of all stages is correct, in a few queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.pipeline import stats
from scrapersky.pipeline.report import load_full_status, load_status, report_stage, report_stages
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import StageControl, StageEvent
from scrapersky.pipeline.workers import WorkerIdentity, record_heartbeat
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
        await record_heartbeat(session, WorkerIdentity(), told)


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


async def counted(session: AsyncSession, stage: AnyStage) -> Counter[str]:
    """Row by row, as a person would."""
    found = await session.scalars(select(stage.model))
    ours = (
        row for row in found if all(getattr(row, name) == word for name, word in stage.only.items())
    )
    return Counter(getattr(row, stage.status) for row in ours)


async def test_a_report_tells_what_waits_is_held_and_was_done(
    settings: Settings, database: Database
) -> None:
    await fill(database)
    async with database.reading() as session:
        reports = await report_stages(session, STAGES, settings)
        by_hand = [await counted(session, stage) for stage in STAGES]

    assert [Counter(each.counts) for each in reports] == by_hand
    for stage, report, rows in zip(STAGES, reports, by_hand, strict=True):
        assert report.queued == rows[stage.words.queued]
        assert report.in_flight == report.overdue == rows[stage.words.processing] == 1
        assert report.stuck == 1
        assert report.due == report.queued - 1
        assert report.next_due_at is not None
        assert report.oldest_due_seconds is not None
        assert report.last_hour == {"completed": 1, "failed": 3}
        assert (report.p50_ms, report.p95_ms) == (10, 14.5)
    first, second, third, *_ = reports
    assert (first.held_back, first.last_tick is not None) == ("No room.", True)
    assert (second.paused, first.paused) == (True, False)
    assert third.pace.concurrency == 2


async def test_one_stage_alone_says_what_it_says_among_all(
    settings: Settings, database: Database
) -> None:
    await fill(database)
    async with database.reading() as session:
        among_all = await report_stages(session, STAGES, settings)
        alone = [await report_stage(session, each, settings) for each in STAGES]

    assert alone == among_all


async def test_in_large_tables_what_has_an_index_is_counted_and_the_rest_estimated(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(database)
    async with database.engine.begin() as connection:
        await connection.execute(text("ANALYZE"))
    monkeypatch.setattr(stats, "MAX_EXACT_ROWS", 3)
    async with database.reading() as session:
        with statements(database) as asked:
            reports = await report_stages(session, STAGES, settings)
        by_hand = [await counted(session, stage) for stage in STAGES]

    for stage, report, rows in zip(STAGES, reports, by_hand, strict=True):
        exact = (stage.words.queued, stage.words.processing, stage.words.failed)
        assert not set(report.estimated) & set(exact)
        assert {word: report.counts.get(word, 0) for word in exact} == {
            word: rows[word] for word in exact
        }
    assert any(each.estimated for each in reports)
    assert len(asked) == 8


async def test_eight_queries_tell_all_and_five_whether_it_is_well(
    settings: Settings, database: Database
) -> None:
    async with database.reading() as session:
        with statements(database) as asked:
            await load_full_status(session, STAGES, settings)
        with statements(database) as asked_briefly:
            await load_status(session, STAGES, settings)
    assert (len(asked), len(asked_briefly)) == (8, 5)
