"""Bulk operations on the command line: preview, confirmation, processing in parts."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import sys
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, AuditEntry, Job
from scrapersky.pipeline.tables import DeadLetter
from tests.cli.conftest import PROMPTLY_SECONDS, Invoke, from_database
from tests.stage_cases import OWNED

SITEMAPS = "process_pending_sitemaps"


def add_failed(url: str, count: int, **more: Any) -> list[UUID]:
    """Failed jobs, each with a dead letter; returns the jobs."""
    jobs = [
        Job(id=uuid7(), job_type="sitemap", subject=f"{uuid7().hex}.example", status="failed")
        for _ in range(count)
    ]
    letters = [
        DeadLetter(
            id=uuid7(),
            tenant_id=DEFAULT_TENANT_ID,
            stage=SITEMAPS,
            row_id=job.id,
            attempts=5,
            worker="host 1",
            **{"error_class": "Rejected", "error": "No.", **more},
        )
        for job in jobs
    ]
    for job in jobs:
        job.error = letters[0].error
        job.tenant_id, job.created_by = OWNED["tenant_id"], OWNED["created_by"]
    asyncio.run(_add(url, [*jobs, *letters]))
    return [job.id for job in jobs]


async def _add(url: str, rows: list[Any]) -> None:
    database = Database(url, pool_size=2)
    async with database.transaction() as session:
        session.add_all(rows)
    await database.close()


def statuses(url: str) -> dict[str, int]:
    found = from_database(url, select(Job.status))
    return {word: found.count(word) for word in set(found)}


def test_letters_are_replayed_by_what_is_known_of_them(invoke: Invoke, url: str) -> None:
    add_failed(url, 2, error_class="TimeoutError", error="100% late")
    add_failed(url, 3)
    chosen = ("--stage", SITEMAPS, "--error-class", "TimeoutError", "--text", "100%")

    tried = invoke("dead-letter", "replay", *chosen, "--newer-than", "2d", "--dry-run")
    unasked = invoke("dead-letter", "replay", *chosen)
    too_old = invoke("dead-letter", "replay", *chosen, "--older-than", "2d", "--yes")
    assert tried.out.splitlines()[-1] == "2 dead letters will be replayed."
    assert "TimeoutError" in tried.out
    assert (unasked.code, "add --yes" in unasked.err) == (2, True)
    assert too_old.out == "0 dead letters will be replayed.\n"
    assert statuses(url) == {"failed": 5}

    done = invoke("dead-letter", "replay", *chosen, "--yes", "--why", "it is back")
    assert done.out == "2 dead letters replayed.\n"
    assert statuses(url) == {"failed": 3, "pending": 2}
    assert (
        from_database(url, select(DeadLetter.note).where(DeadLetter.state == "replayed"))
        == ["it is back"] * 2
    )


def test_a_replay_is_spread_over_all_its_parts(
    invoke: Invoke, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_failed(url, 5)
    monkeypatch.setattr("scrapersky.cli.bulk.MAX_BULK_ROWS", 2)

    said = invoke("dead-letter", "replay", "--all", "--per-minute", "60", "--yes")

    spread = select(func.max(Job.due_at) - func.min(Job.due_at))
    assert said.out == "5 dead letters replayed.\n"
    assert "2 of 5" in said.err
    assert len(from_database(url, select(AuditEntry.id))) == 3
    assert from_database(url, spread)[0].total_seconds() >= 2


def test_letters_are_discarded_by_filter(invoke: Invoke, url: str) -> None:
    add_failed(url, 2)

    said = invoke("dead-letter", "discard", "--error-class", "Rejected", "-y", "--why", "known")

    assert said.out == "2 dead letters discarded.\n"
    listed = json.loads(invoke("dead-letter", "list", "--state", "discarded", "--json").out)
    assert [each["note"] for each in listed] == ["known", "known"]
    assert statuses(url) == {"failed": 2}


def test_jobs_are_retried_and_cancelled_by_filter(invoke: Invoke, url: str) -> None:
    add_failed(url, 2, error="Timed out.")
    add_failed(url, 1)

    retried = invoke("job", "retry", "--status", "failed", "--error", "timed", "--yes")
    assert retried.out == "2 jobs requeued.\n"
    cancelled = invoke("job", "cancel", "--all", "--yes", "--why", "wrong list")
    assert cancelled.out == "2 jobs cancelled.\n"
    assert statuses(url) == {"failed": 1, "cancelled": 2}


def test_rows_of_a_stage_are_requeued_cancelled_and_reset(invoke: Invoke, url: str) -> None:
    first, *_ = add_failed(url, 2)

    assert invoke("stage", "requeue", SITEMAPS, "--id", str(first), "-y").out == (
        "1 row requeued.\n"
    )
    assert statuses(url) == {"failed": 1, "pending": 1}
    assert invoke("stage", "cancel", SITEMAPS, "--all", "-y").out == "1 row cancelled.\n"
    assert statuses(url) == {"failed": 1, "cancelled": 1}
    assert invoke("stage", "reset", "process_pending_jobs", "--status", "failed", "-y").out == (
        "1 row reset.\n"
    )
    assert statuses(url) == {"pending": 1, "cancelled": 1}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("dead-letter", "replay"), "--all"),
        (("job", "cancel"), "--all"),
        (("stage", "reset", SITEMAPS), "--all"),
        (("job", "cancel", str(uuid7()), "--all"), "not both"),
        (("job", "retry", "--older-than", "soon"), "2d"),
        (("job", "list", "--status", "finished"), "complete"),
        (("stage", "reset", SITEMAPS, "--status", "Done"), "complete"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    invoke: Invoke, arguments: tuple[str, ...], told: str
) -> None:
    said = invoke(*arguments)

    assert said.code == 2
    assert told in said.err


@pytest.mark.parametrize(("typed", "left"), [("n\n", {"failed": 2}), ("y\n", {"pending": 2})])
async def test_somebody_at_a_screen_is_asked(url: str, typed: str, left: dict[str, int]) -> None:
    await asyncio.to_thread(add_failed, url, 2)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scrapersky", "dead-letter", "replay", "--all"),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": url},
        cwd="/",
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    async with asyncio.timeout(PROMPTLY_SECONDS):
        _, err = await process.communicate()
    os.close(ours)

    assert b"2 dead letters will be replayed. Continue?" in err
    assert await asyncio.to_thread(statuses, url) == left
