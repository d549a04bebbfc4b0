"""The demo runs to its end, tells the truth, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from scrapersky.demo import report, run
from scrapersky.demo.results import Result
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.settings import Settings, SettingsSource, load_settings

PROGRAM = """
import asyncio, sys
from rich.console import Console
from scrapersky.demo.run import run_demo
from scrapersky.logging import configure_logging
from scrapersky.settings import load_settings
configure_logging()
sys.exit(asyncio.run(run_demo(load_settings(), Console())))
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for temporary files that PostgreSQL's own user can pass through."""
    with tempfile.TemporaryDirectory(prefix="town-", dir="/tmp") as made:
        Path(made).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


def processes_in(folder: Path) -> list[str]:
    """Command lines of the processes that work below the folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


def settings_of_somebody() -> Settings:
    """Settings that would spoil the demo, did it not have its own."""
    environ = {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "SCRAPERSKY_DATA_DIR": "/nonexistent/mine",
        "SITEMAP_MAX_URLS_PER_DOMAIN": "1",
        "FETCH_TIMEOUT_SECONDS": "0.001",
    }
    return load_settings(SettingsSource(environ=environ, env_file=None))


async def test_demo_ends_well_and_leaves_nothing_running(folder: Path) -> None:
    console = Console(file=StringIO(), width=200)
    code = await run.run_demo(settings_of_somebody(), console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert code == 0, text
    assert "morning-courier.example: complete, 5 sitemaps, 3,640 URLs" in text
    assert "palace-cinema.example: failed, 0 sitemaps, 0 URLs" in text
    assert "What was refused or failed, and why" in text
    assert "given up after 2 attempts" in text
    assert "scrapersky scan DOMAIN" in text
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


@pytest.mark.parametrize(
    ("until", "number", "code"),
    [
        ("Starting", signal.SIGINT, 130),
        ("corner-bakery.example: complete", signal.SIGTERM, 143),
    ],
)
def test_an_interrupted_demo_clears_up(
    folder: Path, until: str, number: signal.Signals, code: int
) -> None:
    """Also while PostgreSQL is starting, and when people press Ctrl-C twice."""
    environ = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        assert any(line.startswith(until) for line in demo.stdout)
        demo.send_signal(number)
        demo.send_signal(number)
        rest = demo.stdout.read()
    assert demo.returncode == code, rest
    assert "Traceback" not in rest
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


def result(*, status: str, outcome: str | None, urls: int, expected: Expected) -> Result:
    site = TownSite(name="bakery.example", shows="Bread.", expected=expected)
    job = SimpleNamespace(status=status, result_data={"outcome": outcome} if outcome else None)
    return Result(site=site, job=cast(Any, job), files=(), urls=urls, letter=None)


def test_a_site_that_ends_otherwise_makes_the_demo_fail_with_a_sentence() -> None:
    console = Console(file=StringIO(), width=200)
    other = result(
        status="complete", outcome="none", urls=0, expected=Expected(Ending.FOUND, urls=37)
    )
    assert report.conclude(console, [other], seconds=1) == 1
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == (
        "bakery.example is none with 0 URLs; expected was found with 37 URLs.\n"
    )


def test_a_job_that_has_not_ended_is_a_difference() -> None:
    late = result(
        status="processing", outcome=None, urls=3, expected=Expected(Ending.FOUND, urls=3)
    )
    assert late.difference == (
        "bakery.example is processing with 3 URLs; expected was found with 3 URLs."
    )


def test_a_failed_job_without_a_dead_letter_is_a_difference() -> None:
    lost = result(status="failed", outcome=None, urls=0, expected=Expected(Ending.FAILED))
    assert lost.difference is not None
