"""Old rows are deleted in small transactions; active ones are kept, however old."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base, uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    AuditEntry,
    Batch,
    BatchJob,
    BulkAction,
    Domain,
    Job,
    Place,
    SearchPlace,
    SitemapFile,
    UserSession,
    WebhookDelivery,
    WebhookEndpoint,
)
from scrapersky.operations import retention
from scrapersky.operations.retention import RETENTION_RULES, delete_old_rows
from scrapersky.pipeline.tables import (
    Alert,
    ChoreFailure,
    DeadLetter,
    Host,
    HostSlot,
    ScheduleRun,
    StageEvent,
    Worker,
)
from scrapersky.scraper.http.urls import url_digest
from scrapersky.settings import Settings
from tests.conftest import make_settings
from tests.stage_cases import OWNED

AGES_AGO = func.now() - timedelta(days=1000)
YESTERDAY_OR_SO = func.now() - timedelta(hours=20)


def job(status: str = "complete", finished_at: Any = AGES_AGO, **more: Any) -> Job:
    values: dict[str, Any] = {"job_type": "sitemap", "subject": uuid7().hex, **OWNED, **more}
    return Job(id=uuid7(), status=status, finished_at=finished_at, **values)


def letter(state: str, closed_at: Any, row_id: UUID | None = None) -> DeadLetter:
    return DeadLetter(
        id=uuid7(),
        stage="noop",
        row_id=row_id or uuid7(),
        attempts=1,
        error_class="E",
        error="e",
        worker="w",
        died_at=AGES_AGO,
        state=state,
        closed_at=closed_at,
    )


def batch(created_at: Any) -> Batch:
    return Batch(id=uuid7(), max_pages=1, accepted=1, rejected=0, created_at=created_at, **OWNED)


def worker(beat_at: Any) -> Worker:
    return Worker(
        id=uuid7(), hostname="h", boot_id="b", pid=1, pid_start=1, version="0", beat_at=beat_at
    )


def audited(at: Any) -> AuditEntry:
    return AuditEntry(
        tenant_id=OWNED["tenant_id"],
        actor_id=OWNED["created_by"],
        via="cli",
        action="job.cancel",
        subject_kind="job",
        at=at,
    )


def decided(at: Any) -> BulkAction:
    return BulkAction(
        id=uuid7(),
        kind="page",
        to_status="Selected",
        updated_count=1,
        queued_count=0,
        created_at=at,
        **OWNED,
    )


def signed_in(expires_at: Any) -> UserSession:
    return UserSession(
        tenant_id=OWNED["tenant_id"],
        user_id=OWNED["created_by"],
        role="viewer",
        token_hash=uuid7().bytes,
        client="",
        expires_at=expires_at,
    )


RECEIVER = UUID("0190b2f0-0000-7000-8000-000000000001")


def receiver() -> WebhookEndpoint:
    url = "https://hooks.example/catch"
    return WebhookEndpoint(id=RECEIVER, url=url, secret="s", events=[], **OWNED)


def told(created_at: Any, status: str = "delivered") -> WebhookDelivery:
    return WebhookDelivery(
        id=uuid7(),
        endpoint_id=RECEIVER,
        tenant_id=OWNED["tenant_id"],
        event="job.finished",
        payload={},
        status=status,
        created_at=created_at,
    )


OLD_AND_YOUNG: dict[type[Base], tuple[Any, Any]] = {
    Job: (job, lambda: job(finished_at=YESTERDAY_OR_SO)),
    Batch: (lambda: batch(AGES_AGO), lambda: batch(YESTERDAY_OR_SO)),
    StageEvent: (
        lambda: StageEvent(stage="noop", kind="completed", at=AGES_AGO),
        lambda: StageEvent(stage="noop", kind="completed"),
    ),
    DeadLetter: (
        lambda: letter("replayed", AGES_AGO),
        lambda: letter("discarded", YESTERDAY_OR_SO),
    ),
    ScheduleRun: (
        lambda: ScheduleRun(name="tidy", slot=AGES_AGO, started_at=AGES_AGO),
        lambda: ScheduleRun(name="tidy", slot=func.now()),
    ),
    ChoreFailure: (
        lambda: ChoreFailure(name="renamed", error="It broke.", failed_at=AGES_AGO),
        lambda: ChoreFailure(name="tidy", error="It broke.", failed_at=YESTERDAY_OR_SO),
    ),
    AuditEntry: (lambda: audited(AGES_AGO), lambda: audited(YESTERDAY_OR_SO)),
    BulkAction: (lambda: decided(AGES_AGO), lambda: decided(YESTERDAY_OR_SO)),
    WebhookDelivery: (lambda: told(AGES_AGO), lambda: told(YESTERDAY_OR_SO)),
    UserSession: (lambda: signed_in(AGES_AGO), lambda: signed_in(YESTERDAY_OR_SO)),
    Worker: (lambda: worker(AGES_AGO), lambda: worker(YESTERDAY_OR_SO)),
    Host: (
        lambda: Host(host="old.example", next_slot_at=AGES_AGO),
        lambda: Host(host="young.example"),
    ),
    Alert: (
        lambda: Alert(rule="r", sentence="s", began_at=AGES_AGO, cleared_at=AGES_AGO),
        lambda: Alert(rule="r", sentence="s", began_at=AGES_AGO),
    ),
}


async def count(database: Database, model: type[Base]) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(model)) or 0)


def test_every_table_with_a_retention_is_tested() -> None:
    assert {kept.model for kept in RETENTION_RULES} == set(OLD_AND_YOUNG)


@pytest.mark.parametrize("kept", RETENTION_RULES, ids=lambda kept: kept.name)
async def test_the_old_goes_and_the_young_stays(
    kept: Any, url: str, settings: Settings, database: Database
) -> None:
    old, young = OLD_AND_YOUNG[kept.model]
    async with database.transaction() as session:
        session.add(receiver())
        await session.flush()
        session.add_all([old(), young()])
    for_ever = make_settings(url, **{kept.setting: 0})

    assert kept.name not in await delete_old_rows(database, for_ever)
    assert await delete_old_rows(database, settings) == {kept.name: 1}
    assert await count(database, kept.model) == 1


async def test_nothing_that_is_at_work_is_deleted_however_old_it_is(
    settings: Settings, database: Database
) -> None:
    domain = Domain(id=uuid7(), domain="bakery.example", **OWNED)
    last, failed = job(domain_id=domain.id), job("failed")
    async with database.transaction() as session:
        session.add(domain)
        await session.flush()
        waiting, of_it = job("pending"), batch(AGES_AGO)
        session.add_all([waiting, job("processing"), last, failed, of_it])
        await session.flush()
        session.add(
            BatchJob(
                batch_id=of_it.id, position=0, domain="a", job_id=waiting.id, already_active=False
            )
        )
        session.add_all([letter("open", None), letter("open", None, row_id=failed.id)])
        session.add(receiver())
        await session.flush()
        not_told = told(AGES_AGO, "failed")
        session.add_all([told(AGES_AGO, "pending"), told(AGES_AGO, "processing"), not_told])
        session.add(letter("open", None, row_id=not_told.id))
        session.add_all([Host(host=name, next_slot_at=AGES_AGO) for name in ("a", "b")])
        session.add(HostSlot(host="a", expires_at=func.now() + timedelta(minutes=1)))
        await session.flush()
        domain.last_sitemap_job_id = last.id
        left_alone = await session.get_one(Host, "b")
        left_alone.circuit_open_until = func.now() + timedelta(hours=1)

    assert await delete_old_rows(database, settings) == {}


async def test_what_refers_to_a_deleted_row_stays_whole(
    settings: Settings, database: Database
) -> None:
    domain = Domain(id=uuid7(), domain="bakery.example", **OWNED)
    first = job()
    alert = Alert(id=uuid7(), rule="r", sentence="s", cleared_at=AGES_AGO)
    address = "http://bakery.example/sitemap.xml"
    async with database.transaction() as session:
        session.add_all([domain, alert])
        await session.flush()
        first.domain_id = domain.id
        session.add(first)
        await session.flush()
        session.add(
            SitemapFile(
                domain_id=domain.id,
                url=address,
                url_digest=url_digest(address),
                discovery_method="manual",
                status="ok",
                job_id=first.id,
                **OWNED,
            )
        )

    assert await delete_old_rows(database, settings) == {"jobs": 1, "alerts": 1}
    async with database.reading() as session:
        assert (await session.scalars(select(SitemapFile.job_id))).all() == [None]


async def test_several_processes_delete_together_in_small_transactions(
    url: str, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "DELETE_BATCH_SIZE", 7)
    async with database.transaction() as session:
        session.add_all([job() for _ in range(60)])
        session.add_all([StageEvent(stage="s", kind="completed", at=AGES_AGO) for _ in range(60)])
        session.add_all([job("pending", None) for _ in range(5)])
    others = [Database(url, pool_size=2) for _ in range(4)]
    largest = [_largest_delete(each) for each in others]

    deleted = await asyncio.gather(*(delete_old_rows(each, settings) for each in others))
    for each in others:
        await each.close()

    assert sum(each.get("jobs", 0) for each in deleted) == 60
    assert sum(each.get("stage_events", 0) for each in deleted) == 60
    assert await count(database, Job) == 5
    assert max(each[0] for each in largest) == 7


def _largest_delete(database: Database) -> list[int]:
    """How many rows the largest single statement deleted."""
    largest = [0]

    def note(_c: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("DELETE"):
            largest[0] = max(largest[0], cursor.rowcount)

    event.listen(database.engine.sync_engine, "after_cursor_execute", note)
    return largest


async def test_a_row_somebody_holds_is_left_for_next_time(
    settings: Settings, database: Database
) -> None:
    async with database.transaction() as session:
        session.add_all([job(), job()])
    async with database.transaction() as holder:
        await _lock_one(holder)
        assert await delete_old_rows(database, settings) == {"jobs": 1}
    assert await delete_old_rows(database, settings) == {"jobs": 1}


async def _lock_one(session: AsyncSession) -> None:
    await session.execute(select(Job.id).limit(1).with_for_update())


async def test_a_search_that_found_places_is_kept_for_good(
    settings: Settings, database: Database
) -> None:
    """The trail of every lead ends there."""
    search, in_vain = (job(job_type="place_search") for _ in range(2))
    place = Place(id=uuid7(), provider="google", place_id="a", **OWNED)
    async with database.transaction() as session:
        session.add_all([search, in_vain, place])
        await session.flush()
        session.add(
            SearchPlace(
                search_id=search.id,
                place_id=place.id,
                tenant_id=OWNED["tenant_id"],
                position=1,
                sighted="new",
            )
        )

    assert await delete_old_rows(database, settings) == {"jobs": 1}
    async with database.reading() as session:
        assert (await session.scalars(select(Job.id))).all() == [search.id]
