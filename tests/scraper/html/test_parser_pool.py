"""Pages are parsed in child processes: killing one affects no other page and not the worker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop
from multidict import CIMultiDict, CIMultiDictProxy

from scrapersky.contacts.page_parser import parse_home_page, parse_page
from scrapersky.errors import LimitedResource, ResourceExhausted, RetryLater
from scrapersky.scraper import Analysis, Fetcher, SitemapAnalyzer, UrlsFound
from scrapersky.scraper.html import parser_pool
from scrapersky.scraper.html.parser_pool import (
    ParserCrashed,
    ParserFailed,
    ParserPool,
    ParserTimedOut,
)
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.sitemaps import sitemap_analyzer
from tests.fake_web import FakeWeb, urlset
from tests.hostile_parser import HANGS, find_links_trap
from tests.processes import running
from tests.scraper.html import parser_traps
from tests.waiting import PATIENCE_SECONDS

MEMORY = 400 * 1024 * 1024
LONG = 3600.0
URL = "http://bakery.example/"
HTML = b"<title>Bread</title><a href='mailto:info@bakery.example'>Mail</a>"


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    """One process, whose time is never up."""
    async with ParserPool(1, timeout_seconds=LONG, memory_bytes=MEMORY) as made:
        yield made


def make_page() -> Response:
    headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "text/html"}))
    return Response(URL, URL, 200, headers, HTML)


def exists(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


async def wait_until_gone(pid: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while exists(pid):
            await asyncio.sleep(0.02)


async def wait_for_pid(note: Path) -> int:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.02)
    return int(note.read_text())


async def test_a_page_read_in_a_process_says_what_it_says_here(pool: ParserPool) -> None:
    page = make_page()
    assert await pool.run(parse_page, page, True) == parse_page(page, True)
    home = await pool.run(parse_home_page, page, URL, True)
    assert home == parse_home_page(page, URL, True)
    assert home.contacts is not None
    assert [each.value for each in home.contacts.contacts] == ["info@bakery.example"]


async def test_reading_needs_neither_database_nor_framework(pool: ParserPool) -> None:
    await pool.run(parse_page, make_page(), True)
    modules = await pool.run(parser_traps.get_modules)
    assert not modules & {"sqlalchemy", "asyncpg", "fastapi", "apscheduler", "scrapersky.cli"}


async def test_the_process_is_not_given_our_secrets(
    pool: ParserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:secret@localhost/x")
    assert "DATABASE_URL" not in await pool.run(parser_traps.get_environment)


async def test_what_a_library_prints_does_not_spoil_the_answer(pool: ParserPool) -> None:
    large = "ä" * 3_000_000
    assert await pool.run(parser_traps.echo, large) == large
    assert await pool.run(parser_traps.echo, "again") == "again"


async def test_an_exception_comes_back_with_its_traceback(pool: ParserPool) -> None:
    pid = await pool.run(parser_traps.get_pid)
    with pytest.raises(ParserFailed, match="ValueError: no such charset") as raised:
        await pool.run(parser_traps.fail, "no such charset")
    assert "parser_traps.py" in raised.value.__notes__[0]
    assert await pool.run(parser_traps.get_pid) == pid


async def test_a_page_that_hangs_is_cut_off_and_the_next_is_read() -> None:
    async with ParserPool(1, timeout_seconds=5, memory_bytes=MEMORY) as pool:
        pid = await pool.run(parser_traps.get_pid)
        with pytest.raises(ParserTimedOut, match="could not be parsed within 5 seconds"):
            await pool.run(parser_traps.hang)
        await wait_until_gone(pid)
        assert await pool.run(parser_traps.echo, "bread") == "bread"


async def test_a_page_that_eats_memory_is_cut_off_and_the_next_is_read(pool: ParserPool) -> None:
    with pytest.raises(ParserCrashed, match="takes more than 400 MB of memory"):
        await pool.run(parser_traps.eat_memory)
    assert await pool.run(parser_traps.echo, "bread") == "bread"


async def test_pages_that_wait_for_a_process_that_dies_are_read_by_another(
    pool: ParserPool,
) -> None:
    calls = [pool.run(parser_traps.die), *(pool.run(parser_traps.echo, str(n)) for n in range(5))]
    crashed, *others = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(crashed, ParserCrashed)
    assert str(crashed) == "The parser process was killed by SIGKILL."
    assert others == [str(n) for n in range(5)]


async def test_a_process_killed_while_it_was_idle_is_nobodys_fault(pool: ParserPool) -> None:
    pid = await pool.run(parser_traps.get_pid)
    os.kill(pid, signal.SIGKILL)
    assert await pool.run(parser_traps.echo, "bread") == "bread"


async def test_ctrl_c_and_sigterm_are_left_to_the_parent(pool: ParserPool) -> None:
    pid = await pool.run(parser_traps.get_pid)
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    assert await pool.run(parser_traps.get_pid) == pid


async def test_a_caller_that_is_cancelled_leaves_no_process_behind(
    pool: ParserPool, tmp_path: Path
) -> None:
    call = asyncio.create_task(pool.run(parser_traps.hang_after, str(tmp_path / "pid")))
    pid = await wait_for_pid(tmp_path / "pid")
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    await wait_until_gone(pid)
    assert await pool.run(parser_traps.echo, "bread") == "bread"


async def test_an_idle_process_ends() -> None:
    async with ParserPool(1, memory_bytes=MEMORY, timeout_seconds=LONG, idle_seconds=0.1) as pool:
        await wait_until_gone(await pool.run(parser_traps.get_pid))
        assert await pool.run(parser_traps.echo, "bread") == "bread"


async def test_a_process_is_replaced_after_many_pages(
    pool: ParserPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser_pool, "MAX_CALLS", 2)
    pids = [await pool.run(parser_traps.get_pid) for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


async def test_waiting_long_for_a_process_is_our_own_limit(
    pool: ParserPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    call = asyncio.create_task(pool.run(parser_traps.hang_after, str(tmp_path / "pid")))
    await wait_for_pid(tmp_path / "pid")
    monkeypatch.setattr(parser_pool, "WAIT_SECONDS", 0.1)
    with pytest.raises(ResourceExhausted, match="were busy") as raised:
        await pool.run(parser_traps.echo, "bread")
    assert raised.value.limit is LimitedResource.PROCESSES
    call.cancel()


TRAP = "http://trap.example/"


async def test_hanging_pages_of_one_host_leave_a_process_to_others(tmp_path: Path) -> None:
    """A dozen traps, queued before the good pages. No time-out helps: it is an hour."""
    gate = str(tmp_path / "gate")
    async with ParserPool(2, timeout_seconds=LONG, memory_bytes=MEMORY) as pool:
        first = asyncio.create_task(
            pool.run(parser_traps.hang_after, str(tmp_path / "pid"), url=TRAP)
        )
        await wait_for_pid(tmp_path / "pid")
        blocker = asyncio.create_task(pool.run(parser_traps.wait_for, gate, "good", url=URL))
        traps = [asyncio.create_task(pool.run(parser_traps.hang, url=TRAP)) for _ in range(11)]
        await asyncio.sleep(0)  # so that all of them wait before the good pages
        hosts = ("bakery.example", "garage.example")
        good = [
            pool.run(parser_traps.echo, str(n), url=f"http://{hosts[n % 2]}/") for n in range(20)
        ]
        others = asyncio.gather(*good)
        await asyncio.sleep(0)
        Path(gate).touch()

        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await others == [str(n) for n in range(20)]
        assert await blocker == "good"
        assert not any(each.done() for each in (first, *traps))
    await asyncio.gather(first, *traps, return_exceptions=True)


async def test_hanging_pages_of_many_hosts_leave_a_process_to_others(tmp_path: Path) -> None:
    """Each moves to the slow lane at once: the quantum is 0."""
    pids = [tmp_path / f"pid{number}" for number in range(2)]
    async with ParserPool(2, timeout_seconds=LONG, memory_bytes=MEMORY, quantum_seconds=0) as pool:
        traps = [
            asyncio.create_task(
                pool.run(parser_traps.hang_after, str(pid), url=f"http://trap{pid.name}.example/")
            )
            for pid in pids
        ]
        for pid in pids:
            await wait_for_pid(pid)
        async with asyncio.timeout(PATIENCE_SECONDS):
            for number in range(5):
                assert await pool.run(parser_traps.echo, str(number), url=URL) == str(number)
        assert not any(each.done() for each in traps)
    await asyncio.gather(*traps, return_exceptions=True)


async def test_waiting_because_of_slow_pages_is_not_our_own_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with ParserPool(1, timeout_seconds=LONG, memory_bytes=MEMORY, quantum_seconds=0) as pool:
        call = asyncio.create_task(
            pool.run(parser_traps.hang_after, str(tmp_path / "pid"), url=TRAP)
        )
        await wait_for_pid(tmp_path / "pid")
        monkeypatch.setattr(parser_pool, "WAIT_SECONDS", 0.1)
        with pytest.raises(RetryLater, match="take long to parse"):
            await pool.run(parser_traps.echo, "bread", url=URL)
        call.cancel()


async def test_a_host_whose_pages_time_out_gets_one_process_at_a_time(tmp_path: Path) -> None:
    gate = str(tmp_path / "gate")
    async with ParserPool(2, timeout_seconds=0.5, memory_bytes=MEMORY) as pool:
        for _ in range(2):
            with pytest.raises(ParserTimedOut):
                await pool.run(parser_traps.hang, url=TRAP)
        pool.check_host(TRAP)
        call = asyncio.create_task(pool.run(parser_traps.wait_for, gate, "late", url=TRAP))
        await asyncio.sleep(0)

        with pytest.raises(RetryLater, match=r"trap\.example took too long to parse"):
            pool.check_host(TRAP)
        with pytest.raises(RetryLater):
            await pool.run(parser_traps.echo, "bread", url=TRAP)
        pool.check_host(URL)
        call.cancel()


async def test_a_process_that_cannot_be_started_is_our_own_limit() -> None:
    async with ParserPool(1, memory_bytes=1024 * 1024) as pool:
        with pytest.raises(ResourceExhausted, match="No parser process could be started") as raised:
            await pool.run(parse_page, make_page(), True)
    assert raised.value.limit is LimitedResource.PROCESSES


def test_the_event_loop_that_the_program_uses_closes_a_pool_that_hangs(tmp_path: Path) -> None:
    """uvloop has its own idea of processes."""

    async def hang_and_close() -> tuple[int, str]:
        async with ParserPool(2, timeout_seconds=LONG, memory_bytes=MEMORY) as pool:
            call = asyncio.create_task(pool.run(parser_traps.hang_after, str(tmp_path / "pid")))
            pid = await wait_for_pid(tmp_path / "pid")
            with pytest.raises(ParserCrashed):
                await pool.run(parser_traps.die)
            said = await pool.run(parser_traps.echo, "bread")
        with suppress(ParserCrashed):
            await call
        return pid, said

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        pid, said = runner.run(hang_and_close())
        runner.run(wait_until_gone(pid))
    assert said == "bread"


async def test_a_scan_goes_on_without_a_home_page_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sitemap_analyzer, "find_sitemap_links", find_links_trap)
    async with FakeWeb() as web, ParserPool(1, timeout_seconds=0.5) as pool:
        site = web.host("bakery.example")
        site.page("/", f"<html>{HANGS}</html>")
        site.xml("/sitemap.xml", urlset("http://bakery.example/bread"))
        async with Fetcher.from_settings(web.settings()) as fetch:
            analyzer = SitemapAnalyzer(fetch, parser=pool)
            told = [each async for each in analyzer.analyze_domain_sitemaps("bakery.example")]

    urls = [entry.loc for each in told if isinstance(each, UrlsFound) for entry in each.entries]
    assert urls == ["http://bakery.example/bread"]
    assert isinstance(told[-1], Analysis)
    assert "could not be parsed within 0.5 seconds" in " ".join(told[-1].errors)


async def test_kill_minus_9_of_the_parent_leaves_no_process(tmp_path: Path) -> None:
    note, module = tmp_path / "pid", "tests.scraper.html.parser_parent"
    async with running(str(note), environ={}, log=tmp_path / "log", module=module) as parent:
        hanging, idle = await wait_for_pid(note), await wait_for_pid(tmp_path / "pid.idle")
        assert exists(hanging)
        assert exists(idle)
        parent.send(signal.SIGKILL)
        await parent.ended()
        await wait_until_gone(hanging)
        await wait_until_gone(idle)
