"""`stage`, `job`, `dead-letter` and `api-key`."""

from __future__ import annotations

import hashlib
import json
from uuid import UUID

import pytest
from sqlalchemy import select

from scrapersky.models import ApiKey, Job
from scrapersky.pipeline.tables import StageControl
from tests.cli.conftest import Cli, Enqueue, Invoke, from_database
from tests.fake_web import FakeWeb

SITEMAPS = "process_pending_sitemaps"


def test_a_key_is_shown_once_and_kept_as_a_hash(invoke: Invoke, url: str) -> None:
    made = invoke("api-key", "create", "--name", "nightly [export]", "--role", "curator")

    secret = made.out.strip()
    [key] = from_database(url, select(ApiKey))
    assert secret.startswith("sky_")
    assert key.key_hash == hashlib.sha256(secret.encode()).digest()
    listed = invoke("api-key", "list")
    assert "nightly [export]" in listed.out
    assert secret not in listed.out + made.err


def test_a_revoked_key_is_listed_as_such(invoke: Invoke, url: str) -> None:
    invoke("api-key", "create", "--name", "nightly export")
    [key] = from_database(url, select(ApiKey))

    assert invoke("api-key", "revoke", str(key.id)).code == 0

    [listed] = json.loads(invoke("api-key", "list", "--json").out)
    assert listed["revoked_at"] is not None


@pytest.fixture
async def dead(cli: Cli, web: FakeWeb) -> None:
    """A scan was given up, because the site was away."""
    web.host("bakery.example").closes("/").closes("/robots.txt")
    said = await cli("scan", "bakery.example", SITEMAP_SCHEDULER_MAX_ATTEMPTS="1")
    assert said.code == 1


@pytest.mark.usefixtures("dead")
def test_a_dead_letter_is_replayed(invoke: Invoke, url: str) -> None:
    [letter] = json.loads(invoke("dead-letter", "list", "--json").out)
    assert "Traceback" in invoke("dead-letter", "show", letter["id"]).out

    replayed = invoke("dead-letter", "replay", "--all", "--stage", SITEMAPS, "--yes")

    assert replayed.out == "1 dead letter replayed.\n"
    assert from_database(url, select(Job.status)) == ["pending"]
    assert invoke("dead-letter", "list").out == "No dead letters.\n"
    again = invoke("dead-letter", "discard", letter["id"])
    assert (again.code, "was already replayed" in again.err) == (1, True)


def test_dead_letters_are_named_or_all_meant(invoke: Invoke) -> None:
    said = invoke("dead-letter", "discard")

    assert said.code == 2
    assert "--all" in said.err


def test_a_stage_is_paused_and_resumed(invoke: Invoke, url: str) -> None:
    assert invoke("stage", "pause", SITEMAPS, "--note", "the owner asked").code == 0
    [control] = from_database(url, select(StageControl))
    assert (control.paused, control.note) == (True, "the owner asked")
    shown = json.loads(invoke("stage", "show", SITEMAPS, "--json").out)
    assert (shown["paused"], shown["note"]) == (True, "the owner asked")
    assert "the owner asked" in invoke("stage", "show", SITEMAPS).out

    assert invoke("stage", "resume", SITEMAPS).code == 0
    stages = {each["name"]: each for each in json.loads(invoke("stage", "list", "--json").out)}
    assert stages[SITEMAPS]["paused"] is False


def test_the_older_name_of_the_pause_note_still_works(invoke: Invoke, url: str) -> None:
    assert invoke("stage", "pause", SITEMAPS, "--why", "the owner asked").code == 0
    [control] = from_database(url, select(StageControl))
    assert control.note == "the owner asked"


async def test_without_workers_a_stage_is_run_here(cli: Cli, enqueue: Enqueue) -> None:
    await enqueue("bakery.example")

    said = await cli("stage", "run", SITEMAPS)

    assert said.code == 0, said
    assert "found 1, succeeded 1" in said.out


def test_stages_are_shown(invoke: Invoke, asked: UUID) -> None:
    listed, shown = invoke("stage", "list"), invoke("stage", "show", "process_pending_jobs")

    assert "process_pending_domain_sitemap_submissions" in listed.out
    assert "No workers running" in listed.out
    assert "pending 1" in shown.out


def test_a_job_is_cancelled_and_retried(invoke: Invoke, asked: UUID) -> None:
    cancelled = invoke("job", "cancel", str(asked))
    retried = invoke("job", "retry", str(asked))
    refused = invoke("job", "retry", str(asked))

    assert cancelled.out == f"Job {asked} for bakery.example is cancelled.\n"
    assert retried.out == f"Job {asked} for bakery.example is pending.\n"
    assert (refused.code, f"Job {asked} is pending" in refused.err) == (1, True)


def test_jobs_are_listed_by_site_and_status(invoke: Invoke, asked: UUID) -> None:
    [job] = json.loads(invoke("job", "list", "--domain", "www.Bakery.example", "--json").out)

    assert job["job_id"] == str(asked)
    assert invoke("job", "list", "--status", "failed").out == "No jobs.\n"
    assert str(asked) in invoke("job", "show", str(asked)).out


def test_what_is_not_there_is_said(invoke: Invoke) -> None:
    stage = invoke("stage", "show", "process_everything")
    job = invoke("job", "show", "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e")

    assert (stage.code, job.code) == (1, 1)
    assert "There is no stage process_everything. The stages are " in stage.err
    assert "There is no job 01890f6e" in job.err
