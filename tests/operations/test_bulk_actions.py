"""Bulk operations on dead letters and rows: exact selection, each row once, dry runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import func, select, update

from scrapersky.db.base import Base, uuid7
from scrapersky.db.session import Database
from scrapersky.db.statements import explain
from scrapersky.lists import BulkRequest
from scrapersky.models import DEFAULT_TENANT_ID, Actor, AuditEntry, Job, Role, Tenant, User
from scrapersky.operations import service
from scrapersky.pipeline.bulk import (
    CANCEL,
    REQUEUE,
    RESET,
    BulkOptions,
    StatusTransition,
    select_replayable,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.settings import Settings
from scrapersky.sitemaps import discovery
from scrapersky.stages import STAGES
from tests.app import serving
from tests.conftest import make_settings
from tests.noop import NOOP, NoopRow
from tests.stage_cases import CASES, OWNED, prepare

API = "/api/v3"
SITEMAPS = discovery.STAGE.name
SYSTEM = Actor(user_id=OWNED["created_by"], tenant_id=DEFAULT_TENANT_ID)
OLD = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def letter(row_id: UUID, **more: Any) -> DeadLetter:
    values = {
        "tenant_id": DEFAULT_TENANT_ID,
        "stage": SITEMAPS,
        "attempts": 5,
        "error_class": "TimeoutError",
        "error": "It took too long.",
        "worker": "host 1",
        **more,
    }
    return DeadLetter(id=uuid7(), row_id=row_id, **values)


def failed_job(subject: str, **more: Any) -> Job:
    values = {"job_type": "sitemap", "status": "failed", "error": "No.", "attempts": 5, **OWNED}
    return Job(id=uuid7(), subject=subject, finished_at=OLD, progress=0.5, **{**values, **more})


async def add_dead(database: Database, count: int, **more: Any) -> list[UUID]:
    """Failed jobs, each with its letter; returns the letters."""
    jobs = [failed_job(f"{uuid4().hex}.example") for _ in range(count)]
    letters = [letter(job.id, **more) for job in jobs]
    async with database.transaction() as session:
        session.add_all([*jobs, *letters])
    return [each.id for each in letters]


async def jobs_by_status(database: Database) -> dict[str, int]:
    async with database.reading() as session:
        found = await session.execute(select(Job.status, func.count()).group_by(Job.status))
        return {word: count for word, count in found}  # noqa: C416


async def letters_by_state(database: Database) -> dict[str, int]:
    async with database.reading() as session:
        counted = select(DeadLetter.state, func.count()).group_by(DeadLetter.state)
        found = await session.execute(counted)
        return {word: count for word, count in found}  # noqa: C416


def counts(answer: httpx.Response) -> tuple[int, int, int, int]:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    names = ("matched_count", "updated_count", "left_alone_count", "remaining_count")
    matched, updated, left_alone, remaining = (body[name] for name in names)
    return matched, updated, left_alone, remaining


async def test_letters_are_replayed_by_filter_and_stay_as_history(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_dead(database, 3, error_class="Rejected", error="100% of_it", died_at=OLD)
    await add_dead(database, 2)
    wanted = {"error_class": ["Rejected"], "stage": [SITEMAPS], "died_until": "2d", "text": "100%"}

    answer = await client.post(
        f"{API}/dead-letters/replay", json={"filter": wanted, "note": "the site is back"}
    )

    assert counts(answer) == (3, 3, 0, 0)
    assert await jobs_by_status(database) == {"pending": 3, "failed": 2}
    async with database.reading() as session:
        closed = (await session.scalars(select(DeadLetter).where(DeadLetter.state != "open"))).all()
        job = await session.get_one(Job, closed[0].row_id)
        told = (await session.scalars(select(AuditEntry))).all()
    assert {(each.state, each.note, each.closed_by) for each in closed} == {
        ("replayed", "the site is back", SYSTEM.user_id)
    }
    assert (job.attempts, job.error, job.finished_at, job.progress) == (0, None, None, 0)
    assert [(each.action, each.details["updated"]) for each in told] == [("dead_letter.replay", 3)]


@pytest.mark.parametrize("act", ["replay", "discard"])
async def test_a_dry_run_counts_by_stage_and_error_class_and_changes_nothing(
    client: httpx.AsyncClient, database: Database, act: str
) -> None:
    await add_dead(database, 2, error_class="Rejected")
    await add_dead(database, 1)

    answer = await client.post(f"{API}/dead-letters/{act}", json={"all": True, "dry_run": True})

    groups = {each["error_class"]: each["count"] for each in answer.json()["groups"]}
    assert counts(answer) == (3, 0, 0, 0)
    assert answer.json()["dry_run"] is True
    assert groups == {"Rejected": 2, "TimeoutError": 1}
    assert {each["stage"] for each in answer.json()["groups"]} == {SITEMAPS}
    assert await jobs_by_status(database) == {"failed": 3}
    assert await letters_by_state(database) == {"open": 3}


async def test_letters_are_discarded_and_their_rows_stay_failed(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_dead(database, 3)
    body = {"ids": [str(each) for each in ids[:2]], "note": "gone for good"}

    answer = await client.post(f"{API}/dead-letters/discard", json=body)

    assert counts(answer) == (2, 2, 0, 0)
    assert await letters_by_state(database) == {"discarded": 2, "open": 1}
    assert await jobs_by_status(database) == {"failed": 3}


async def test_two_people_who_replay_the_same_letters_take_each_row_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = [str(each) for each in await add_dead(database, 50)]

    answers = await asyncio.gather(
        client.post(f"{API}/dead-letters/replay", json={"ids": ids}),
        client.post(f"{API}/dead-letters/replay", json={"ids": ids}),
        client.post(f"{API}/dead-letters/replay", json={"all": True}),
        client.post(f"{API}/stages/{SITEMAPS}/rows/requeue", json={"all": True}),
    )
    again = await client.post(f"{API}/dead-letters/replay", json={"ids": ids})

    assert sum(counts(each)[1] for each in answers) == 50
    assert counts(again) == (0, 0, 50, 0)
    for answer in answers[:2]:
        _, updated, left_alone, _ = counts(answer)
        assert updated + left_alone == 50
    assert await jobs_by_status(database) == {"pending": 50}
    assert await letters_by_state(database) == {"replayed": 50}


async def test_replayed_rows_are_spread_over_time(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_dead(database, 5)
    first = await client.post(
        f"{API}/dead-letters/replay", json={"all": True, "per_minute": 30, "limit": 3}
    )
    assert counts(first) == (5, 3, 0, 2)
    rest = {"all": True, "per_minute": 30, "starting_at": first.json()["last_due_at"]}
    assert counts(await client.post(f"{API}/dead-letters/replay", json=rest)) == (2, 2, 0, 0)

    async with database.reading() as session:
        due = (await session.scalars(select(Job.due_at).order_by(Job.due_at))).all()
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(due)]
    assert gaps == [2.0, 2.0, 0.0, 2.0]
    assert due[2] == datetime.fromisoformat(first.json()["last_due_at"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"filter": {}},
        {"filter": {"state": ["open"]}},
        {"ids": [], "all": True},
        {"ids": [], "filter": {"stage": ["x"]}},
        {"filter": {"stauts": "x"}},
        {"filter": {"text": "\x00"}},
        {"all": True, "per_minute": 0},
        {"all": True, "per_minute": 1e-300},
        {"all": True, "limit": 0},
        {"all": True, "surprise": 1},
        {"all": True, "starting_at": "9999-12-31T23:59:59Z"},
    ],
)
async def test_what_could_mean_everything_or_nothing_is_refused(
    client: httpx.AsyncClient, database: Database, body: dict[str, Any]
) -> None:
    await add_dead(database, 1)

    answer = await client.post(f"{API}/dead-letters/replay", json=body)

    assert answer.status_code == 422, answer.text
    assert await letters_by_state(database) == {"open": 1}


async def test_a_filter_that_matches_nothing_is_answered_with_zero(
    client: httpx.AsyncClient,
) -> None:
    for path in ("dead-letters/replay", "dead-letters/discard", f"stages/{SITEMAPS}/rows/reset"):
        answer = await client.post(f"{API}/{path}", json={"filter": {"error": "never"}})
        assert counts(answer) == (0, 0, 0, 0)
        assert counts(await client.post(f"{API}/{path}", json={"ids": []})) == (0, 0, 0, 0)


async def test_letters_whose_rows_moved_on_are_left_alone(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_dead(database, 2)
    async with database.transaction() as session:
        one = await session.get_one(DeadLetter, ids[0])
        await session.execute(update(Job).where(Job.id == one.row_id).values(status="complete"))

    body = {"ids": [str(each) for each in ids]}
    assert counts(await client.post(f"{API}/dead-letters/replay", json=body)) == (1, 1, 1, 0)
    assert await letters_by_state(database) == {"open": 1, "replayed": 1}


async def test_of_rows_that_cannot_be_active_together_one_is_queued(
    client: httpx.AsyncClient, database: Database
) -> None:
    twins = [failed_job("twins.example") for _ in range(3)]
    blocked = failed_job("active.example")
    active = failed_job("active.example", status="pending", error=None)
    jobs = [*twins, blocked, active]
    async with database.transaction() as session:
        session.add_all([*jobs, *(letter(job.id) for job in (*twins, blocked))])

    answer = await client.post(f"{API}/dead-letters/replay", json={"all": True})

    assert counts(answer)[1] == 1
    assert await jobs_by_status(database) == {"failed": 3, "pending": 2}
    one = await client.get(f"{API}/dead-letters")
    refused = await client.post(f"{API}/dead-letters/{one.json()['items'][0]['id']}/replay")
    assert refused.status_code == 409


async def test_rows_and_letters_of_somebody_else_stay_untouched(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        tenant = Tenant(name="others")
        session.add(tenant)
        await session.flush()
        user = User(tenant_id=tenant.id, name="stranger", role=Role.ADMIN)
        session.add(user)
        await session.flush()
        theirs = failed_job("theirs.example", tenant_id=tenant.id, created_by=user.id)
        note = letter(theirs.id, tenant_id=tenant.id)
        session.add_all([theirs, note])
        rows, letters = [str(theirs.id)], [str(note.id)]

    tries = {
        "dead-letters/replay": letters,
        "dead-letters/discard": letters,
        f"stages/{SITEMAPS}/rows/requeue": rows,
        f"stages/{SITEMAPS}/rows/reset": rows,
        "jobs/retry": rows,
    }
    for path, ids in tries.items():
        assert counts(await client.post(f"{API}/{path}", json={"all": True}))[1] == 0, path
        assert counts(await client.post(f"{API}/{path}", json={"ids": ids}))[1] == 0, path
    assert await letters_by_state(database) == {"open": 1}
    assert await jobs_by_status(database) == {"failed": 1}


# Any stage's rows


EVERY_STAGE: tuple[AnyStage, ...] = (NOOP, *STAGES)


async def act(
    database: Database, settings: Settings, stage: AnyStage, what: StatusTransition, **asked: Any
) -> int:
    wanted = BulkRequest(**asked)
    async with database.transaction() as session:
        done = await service.act_on_rows(session, SYSTEM, stage, what, wanted, settings)
    return done.updated_count


async def set_status(database: Database, stage: AnyStage, row_id: UUID, word: str) -> None:
    values = {stage.queue.status: word, stage.queue.error: "No.", stage.queue.attempts: 3}
    async with database.transaction() as session:
        await session.execute(update(stage.model).where(stage.model.id == row_id).values(values))


async def state_of(database: Database, stage: AnyStage, row_id: UUID) -> Any:
    async with database.reading() as session:
        row: Base = await session.get_one(stage.model, row_id)
        return stage.queue.of(row)


@pytest.fixture(params=EVERY_STAGE, ids=lambda stage: stage.name)
async def staged(request: pytest.FixtureRequest, database: Database) -> tuple[AnyStage, list[UUID]]:
    """A stage with four rows: queued, processing, done, failed."""
    stage: AnyStage = request.param
    if stage is NOOP:
        await prepare(database)
    async with database.transaction() as session:
        ids = await CASES[stage.name].make_due(session, 4)
    words = stage.words
    for row_id, word in zip(ids[1:], (words.processing, words.done, words.failed), strict=True):
        await set_status(database, stage, row_id, word)
    return stage, ids


async def statuses(database: Database, stage: AnyStage, ids: list[UUID]) -> list[str]:
    return [(await state_of(database, stage, each)).status for each in ids]


async def test_failed_rows_of_any_stage_are_queued_again(
    database: Database, settings: Settings, staged: tuple[AnyStage, list[UUID]]
) -> None:
    stage, ids = staged
    words = stage.words

    assert await act(database, settings, stage, REQUEUE) == 1

    expected = [words.queued, words.processing, words.done, words.queued]
    assert await statuses(database, stage, ids) == expected
    assert (await state_of(database, stage, ids[3])).attempts == 0


async def test_ended_rows_of_any_stage_start_over_and_worked_ones_only_when_asked(
    database: Database, settings: Settings, staged: tuple[AnyStage, list[UUID]]
) -> None:
    stage, ids = staged
    words = stage.words

    assert await act(database, settings, stage, RESET) == 2
    assert (await statuses(database, stage, ids))[1] == words.processing
    assert await act(database, settings, stage, RESET, also_processing=True) == 1
    assert await statuses(database, stage, ids) == [words.queued] * 4
    taken = await state_of(database, stage, ids[1])
    assert (taken.lease_token, taken.worker_id, taken.attempts, taken.error) == (
        None,
        None,
        0,
        None,
    )


async def test_queued_rows_of_any_stage_are_taken_out_with_a_note(
    database: Database, settings: Settings, staged: tuple[AnyStage, list[UUID]]
) -> None:
    stage, ids = staged
    words = stage.words

    assert await act(database, settings, stage, CANCEL, note="too many") == 1

    ended = await state_of(database, stage, ids[0])
    assert ended.status == (words.cancelled or words.failed)
    assert ended.error == "Cancelled: too many"
    assert (await statuses(database, stage, ids))[1:] == [
        words.processing,
        words.done,
        words.failed,
    ]


async def test_rows_of_a_stage_are_chosen_by_its_queue_columns(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add_all(
            [
                failed_job("a.example", error="Timed out.", due_at=OLD, created_at=OLD),
                failed_job("b.example", error="100% wrong"),
                failed_job("c.example", error=None),
                failed_job("d.example", status="complete", error=None),
            ]
        )

    async def matched(act: str, **given: Any) -> int:
        body = {"filter": given, "dry_run": True}
        return counts(await client.post(f"{API}/stages/{SITEMAPS}/rows/{act}", json=body))[0]

    assert await matched("requeue", error="0% w") == 1
    assert await matched("requeue", has_error=False) == 1
    assert await matched("requeue", due_until="1d") == 1
    assert await matched("requeue", created_since="1d") == 2
    assert await matched("requeue", status=["complete"]) == 0
    assert await matched("reset", status=["complete"]) == 1
    assert await jobs_by_status(database) == {"failed": 3, "complete": 1}
    unknown = await client.post(
        f"{API}/stages/{SITEMAPS}/rows/reset", json={"filter": {"status": ["Done"]}}
    )
    assert unknown.status_code == 422
    assert "Use one of: pending, processing" in unknown.json()["detail"]


async def test_rows_that_do_not_know_an_age_are_not_chosen_by_it(
    database: Database, settings: Settings
) -> None:
    await prepare(database)
    async with database.transaction() as session:
        session.add(NoopRow(id=uuid7(), status="failed"))
    with pytest.raises(Exception, match="Unknown filter: created_until"):
        await act(database, settings, NOOP, REQUEUE, given={"created_until": timedelta(days=1)})


async def test_old_names_of_stages_lead_to_their_letters(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_dead(database, 1, stage=discovery.STAGE.aliases[0])

    assert counts(await client.post(f"{API}/dead-letters/replay", json={"all": True}))[1] == 1
    assert await letters_by_state(database) == {"replayed": 1}


async def test_rivals_are_looked_up_whatever_the_statistics_say(database: Database) -> None:
    """Rows that become active while an act goes on are in no statistics yet."""
    chosen = select_replayable(discovery.STAGE, [], BulkOptions())
    async with database.reading() as session:
        plan = json.dumps(await explain(session, chosen))

    assert "ix_jobs_active" in plan
    assert "Anti" not in plan


async def test_a_single_value_needs_no_list_around_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_dead(database, 2)
    await add_dead(database, 1, error_class="OSError")
    body = {"filter": {"error_class": "OSError"}, "dry_run": True}
    answer = await client.post(f"{API}/dead-letters/replay", json=body)
    assert answer.json()["matched_count"] == 1, answer.text
