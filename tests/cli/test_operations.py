"""`stage`, `job`, `dead-letter` and `api-key`: what operators do without the API."""

from __future__ import annotations

import hashlib
import json

from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import ApiKey, Job
from tests.cli.conftest import Cli, Enqueue, stopped, until
from tests.fake_web import FakeWeb

SITEMAPS = "process_pending_sitemaps"


async def test_a_key_is_shown_once_and_kept_as_a_hash(cli: Cli, rows: Database) -> None:
    made = await cli("api-key", "create", "--name", "nightly [export]", "--role", "curator")

    secret = made.out.strip()
    assert secret.startswith("sky_")
    async with rows.reading() as session:
        key = (await session.scalars(select(ApiKey))).one()
    assert key.key_hash == hashlib.sha256(secret.encode()).digest()
    listed = await cli("api-key", "list")
    assert "nightly [export]" in listed.out
    assert secret not in listed.out + made.err
    revoked = await cli("api-key", "revoke", str(key.id))
    assert revoked.code == 0
    [again] = json.loads((await cli("api-key", "list", "--json")).out)
    assert again["revoked_at"] is not None


async def test_a_dead_letter_is_replayed(cli: Cli, web: FakeWeb, rows: Database) -> None:
    """The site is back, and nobody else works the queue: `stage run` does."""
    bakery = web.host("bakery.example")
    bakery.closes("/").closes("/robots.txt")
    await cli("scan", "bakery.example", SITEMAP_SCHEDULER_MAX_ATTEMPTS="1")
    [letter] = json.loads((await cli("dead-letter", "list", "--json")).out)
    assert "Traceback" in (await cli("dead-letter", "show", letter["id"])).out
    del bakery.routes["/"], bakery.routes["/robots.txt"]

    replayed = await cli("dead-letter", "replay", letter["id"])
    run = await cli("stage", "run", SITEMAPS)

    assert replayed.out == "1 dead letter replayed.\n"
    assert "found 1, succeeded 1" in run.out
    assert json.loads((await cli("dead-letter", "list", "--json")).out) == []
    async with rows.reading() as session:
        assert (await session.scalars(select(Job.status))).one() == "complete"
    again = await cli("dead-letter", "discard", letter["id"])
    assert (again.code, "was replayed already" in again.err) == (1, True)


async def test_a_paused_stage_claims_nothing_until_it_is_resumed(
    cli: Cli, web: FakeWeb, enqueue: Enqueue
) -> None:
    await cli("stage", "pause", SITEMAPS, "--why", "the owner asked")
    working = await cli.start("worker")
    job_id = await enqueue("bakery.example")
    [_, stage] = json.loads((await cli("stage", "list", "--json")).out)
    assert (stage["paused"], stage["due"], web.host("bakery.example").paths) == (True, 1, [])

    await cli("stage", "resume", SITEMAPS)

    await until(lambda: is_complete(cli, str(job_id)))
    assert (await stopped(working)).code == 0


async def is_complete(cli: Cli, job_id: str) -> bool:
    job = json.loads((await cli("job", "show", job_id, "--json")).out)
    return bool(job["status"] == "complete")


async def test_a_job_is_cancelled_and_retried(cli: Cli, enqueue: Enqueue) -> None:
    job_id = str(await enqueue("bakery.example"))

    cancelled = await cli("job", "cancel", job_id)
    retried = await cli("job", "retry", job_id)
    refused = await cli("job", "retry", job_id)

    assert cancelled.out == f"Job {job_id} for bakery.example is cancelled.\n"
    assert retried.out == f"Job {job_id} for bakery.example is pending.\n"
    assert (refused.code, f"Job {job_id} is pending" in refused.err) == (1, True)


async def test_what_is_not_there_is_said(cli: Cli) -> None:
    stage = await cli("stage", "show", "process_everything")

    assert stage.code == 1
    assert "There is no stage process_everything; the stages are " in stage.err
