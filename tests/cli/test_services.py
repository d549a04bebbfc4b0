"""`serve` and `worker`, from start to requeueing their rows at shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
from asyncio.subprocess import Process
from uuid import UUID

import httpx
import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Job
from scrapersky.pipeline.tables import Worker
from tests.cli.conftest import (
    Cli,
    Enqueue,
    Invoke,
    after,
    asked_for,
    ended,
    stopped,
    two_workers,
    until,
)
from tests.fake_web import FakeWeb
from tests.waiting import PATIENCE_SECONDS


async def address(serving: Process) -> str:
    """Where it says that it listens."""
    assert serving.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        line = (await serving.stdout.readline()).decode()
    assert "listens on" in line, line
    return line.split("listens on ")[1].split(",")[0]


async def test_serve_answers_and_stops(cli: Cli, rows: Database) -> None:
    serving = await cli.start("serve", "--port", "0")

    async with httpx.AsyncClient(
        base_url=await address(serving), timeout=PATIENCE_SECONDS
    ) as client:
        assert (await client.get("/health")).json()["status"] == "alive"
        assert (await client.get("/health/ready")).json()["status"] == "ready"

    said = await stopped(serving)
    assert said.code == 0, said
    assert "Sign-in is off: " in said.out
    async with rows.reading() as session:
        assert (await session.scalars(select(Worker))).all() == []


async def test_serve_hands_back_what_it_works_on(cli: Cli, web: FakeWeb, rows: Database) -> None:
    web.host("bakery.example").hang("/sitemap.xml")
    serving = await cli.start("serve", "--port", "0", SHUTDOWN_GRACE_SECONDS="0.1")
    async with httpx.AsyncClient(
        base_url=await address(serving), timeout=PATIENCE_SECONDS
    ) as client:
        await client.post("/api/v3/sitemap/scan", json={"base_url": "bakery.example"})
        await until(lambda: asked_for(web, "/sitemap.xml"))

    assert (await stopped(serving)).code == 0

    async with rows.reading() as session:
        job = (await session.scalars(select(Job))).one()
    assert (job.status, job.attempts) == ("pending", 0)


def test_serve_does_not_listen_openly_for_others(bare_invoke: Invoke) -> None:
    said = bare_invoke("serve", "--host", "0.0.0.0", "--port", "0")

    assert said.code == 2
    assert "AUTH_MODE=required" in said.err


async def test_serve_listens_for_others_when_keys_are_needed(cli: Cli) -> None:
    serving = await cli.start("serve", "--host", "0.0.0.0", "--port", "0", AUTH_MODE="required")
    port = (await address(serving)).rsplit(":", 1)[1]

    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS
    ) as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/api/v3/jobs")).status_code == 401

    assert (await stopped(serving, signal.SIGINT)).code == 0


def test_serve_refuses_a_port_in_use(bare_invoke: Invoke) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = bare_invoke("serve", "--port", str(port))

    assert said.code == 1
    assert f"Port {port} on 127.0.0.1 is in use" in said.err


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["worker"]])
def test_a_database_that_is_behind_is_refused(
    bare_invoke: Invoke, empty_url: str, command: list[str]
) -> None:
    said = bare_invoke(*command, DATABASE_URL=empty_url)

    assert said.code == 1
    assert "Run `scrapersky db upgrade`, then start again." in said.err


async def test_a_worker_takes_what_another_process_enqueued(
    cli: Cli, rows: Database, enqueue: Enqueue
) -> None:
    working = await cli.start("worker", "--stage", "process_pending_jobs", LOG_FORMAT="json")

    job_id = await enqueue("bakery.example")

    await until(lambda: is_complete(rows, job_id))
    said = await stopped(working)
    assert said.code == 0, said
    assert '"stages": ["process_pending_sitemaps"]' in said.err


async def test_a_scan_watches_the_worker_that_holds_its_job(
    cli: Cli, web: FakeWeb, rows: Database, enqueue: Enqueue
) -> None:
    bakery, site_goes_on = web.host("bakery.example"), asyncio.Event()
    bakery.route("/sitemap.xml", after(site_goes_on))
    working = await cli.start("worker")
    job_id = await enqueue("bakery.example")
    await until(lambda: asked_for(web, "/sitemap.xml"))

    scan = await cli.start("scan", "bakery.example")
    await until(lambda: two_workers(rows))
    site_goes_on.set()

    said = await ended(scan)
    assert said.code == 0, said
    assert f"Job {job_id} is already scanning bakery.example" in said.err
    assert "1 sitemap, 1 URL" in said.out
    assert bakery.count("/sitemap.xml") == 1
    assert (await stopped(working)).code == 0


async def is_complete(rows: Database, job_id: UUID) -> bool:
    async with rows.reading() as session:
        return (await session.get_one(Job, job_id)).status == "complete"
