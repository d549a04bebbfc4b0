"""A page that hangs its parser or exhausts memory is stopped, fails alone and blocks no others."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from scrapersky.contacts import page_parser
from scrapersky.contacts.extraction import STAGE
from scrapersky.db.session import Database
from scrapersky.domains.metadata import STAGE as METADATA
from scrapersky.models import Domain, Page
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.html import parser_pool
from tests.fake_web import FakeWeb
from tests.hostile_parser import EATS_MEMORY, HANGS, parse_home_trap, parse_trap
from tests.leads.stage_runs import Run, html, started
from tests.processes import HASTY, running
from tests.waiting import PATIENCE_SECONDS, wait_until

OTHERS = 20
TWO_ATTEMPTS = {
    "PAGE_CURATION_SCHEDULER_MAX_ATTEMPTS": "2",
    "DOMAIN_SCHEDULER_MAX_ATTEMPTS": "2",
}
POOL = {"parser_processes": 2, "parser_timeout_seconds": 8, "parser_memory_mb": 512}


async def add_pages(run: Run, trap: str) -> None:
    """A page that is a trap, and others that are none, on the same site and on another one."""
    for name in ("garage.example", "bakery.example"):
        site = run.web.host(name)
        domain = await run.domain(name)
        for number in range(OTHERS // 2):
            site.page(f"/{number}", html(f"Page {number}"))
            await run.page(domain, f"http://{name}/{number}")
    site.page("/trap", html(trap))
    await run.page(domain, f"http://{name}/trap", page_type="trap")


async def make_due(database: Database, page_type: str = "trap") -> None:
    async with database.transaction() as session:
        due = {STAGE.queue.due_at.key: func.now()}
        await session.execute(update(Page).where(Page.page_type == page_type).values(due))


async def get_trap(database: Database) -> Page:
    async with database.reading() as session:
        return (await session.scalars(select(Page).where(Page.page_type == "trap"))).one()


async def count_complete(database: Database) -> int:
    done = Page.page_processing_status == "Complete"
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).where(done)) or 0)


@pytest.mark.parametrize(
    ("trap", "error", "sentence"),
    [
        (HANGS, "ParserTimedOut", "could not be parsed within 8 seconds"),
        (EATS_MEMORY, "ParserCrashed", "takes more than 512 MB of memory"),
    ],
)
async def test_a_page_that_is_cut_off_is_retried_and_fails_alone(
    trap: str,
    error: str,
    sentence: str,
    url: str,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_parser, "parse_page", parse_trap)
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        await add_pages(run, trap)
        async with started(run, url, environ=TWO_ATTEMPTS, host_delay_ms=0, **POOL):
            await run.work(PAGE_STAGE)
            page = await get_trap(database)
            assert page.page_processing_status == "Queued"
            assert sentence in (page.page_processing_error or "")
            assert await count_complete(database) == OTHERS

            await make_due(database)
            await run.work(PAGE_STAGE)

    assert (await get_trap(database)).page_processing_status == "Error"
    letter = await run.one(DeadLetter)
    assert (letter.row_id, letter.attempts, letter.error_class) == (page.id, 2, error)


async def test_a_dozen_pages_that_hang_do_not_keep_those_of_other_hosts(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it our own limit that their host waits for the processes it holds."""
    monkeypatch.setattr(page_parser, "parse_page", parse_trap)
    monkeypatch.setattr(parser_pool, "WAIT_SECONDS", 5.0)
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        trap = await run.domain("trap.example")
        for number in range(12):
            web.host("trap.example").page(f"/{number}", html(HANGS))
            await run.page(trap, f"http://trap.example/{number}", page_type="trap")
        for name in ("garage.example", "bakery.example"):
            domain = await run.domain(name)
            for number in range(OTHERS // 2):
                web.host(name).page(f"/{number}", html(f"Page {number}"))
                await run.page(domain, f"http://{name}/{number}")
        async with started(run, url, host_delay_ms=0, host_concurrency=16, **POOL):

            async def are_others_complete() -> bool:
                await make_due(database, "contact")
                await run.work(PAGE_STAGE)
                return await count_complete(database) == OTHERS

            await wait_until(are_others_complete)

    traps = [each for each in await run.all(Page) if each.page_type == "trap"]
    assert {each.page_processing_status for each in traps} == {"Queued"}
    assert not any("PARSER_PROCESSES" in (each.page_processing_error or "") for each in traps)


async def test_a_home_page_that_hangs_is_cut_off(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_parser, "parse_home_page", parse_home_trap)
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        for name, body in (("trap.example", HANGS), ("bakery.example", "Good day")):
            web.host(name).page("/", html(body))
            await run.domain(name)
        async with started(run, url, **POOL):
            await run.work(METADATA_STAGE)

    domains = {each.domain: each for each in await run.all(Domain)}
    assert domains["bakery.example"].status == "completed"
    assert domains["trap.example"].status == "pending"
    error = METADATA.queue.of(domains["trap.example"]).error
    assert "could not be parsed within 8 seconds" in (error or "")


async def test_a_worker_stops_in_order_while_a_page_hangs(
    url: str, database: Database, tmp_path: Path
) -> None:
    """With processes of its own, as in production: by default tests read in a thread."""
    more = {"PARSER_PROCESSES": "2", "PARSER_TIMEOUT_SECONDS": "600", "HOST_DELAY_MS": "0"}
    async with FakeWeb() as web:
        run = Run(None, database, web)  # type: ignore[arg-type]
        await add_pages(run, HANGS)
        environ = {**HASTY, **web.environ, "DATABASE_URL": url, **more}
        log, module = tmp_path / "log", "tests.hostile_worker"
        async with running(environ=environ, log=log, module=module) as worker:

            async def only_the_trap_is_left() -> bool:
                assert worker.process.poll() is None, worker.said()
                trap = await get_trap(database)
                is_under_way = trap.page_processing_status == "Processing"
                return is_under_way and await count_complete(database) == OTHERS

            await wait_until(only_the_trap_is_left)
            children = list_children(worker.pid)
            worker.send(signal.SIGTERM)
            assert await worker.ended() == 0, worker.said()

    page = await get_trap(database)
    assert (page.page_processing_status, STAGE.queue.of(page).attempts) == ("Queued", 0)
    assert children
    async with asyncio.timeout(PATIENCE_SECONDS):
        while any(Path(f"/proc/{each}").exists() for each in children):
            await asyncio.sleep(0.02)


def list_children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
