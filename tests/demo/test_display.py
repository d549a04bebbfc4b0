"""The display shows every job, live or line by line."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from scrapersky.demo.display import display, live_table
from scrapersky.demo.watching import Sight

RUNNING = Sight("bakery.example", "processing", "reading sitemaps", 0.4, 1, 2, 1_234)
WAITING = Sight("cinema.example", "pending", attempts=1)
ENDED = Sight("florist.example", "complete", "done", 1.0, 1, 1, 64)


def console(*, is_terminal: bool) -> Console:
    return Console(file=StringIO(), width=120, force_terminal=is_terminal)


def shown(on: Console) -> str:
    assert isinstance(on.file, StringIO)
    return on.file.getvalue()


def test_an_ended_job_is_one_line_told_once_when_nobody_watches() -> None:
    plain = console(is_terminal=False)
    with display(plain) as show:
        show([RUNNING, WAITING])
        show([RUNNING, ENDED])
        show([RUNNING, ENDED])
    assert shown(plain) == "florist.example: complete, 1 sitemap, 64 URLs\n"


def test_a_terminal_shows_status_phase_sitemaps_and_urls() -> None:
    plain = console(is_terminal=False)
    plain.print(live_table([RUNNING, WAITING, ENDED]))
    text = shown(plain)
    assert "1 of 3 sites done" in text
    row = next(line for line in text.splitlines() if "bakery" in line)
    assert all(word in row for word in ("processing", "reading sitemaps", " 2 ", "1,234"))


def test_a_job_between_two_attempts_says_that_it_waits() -> None:
    plain = console(is_terminal=False)
    plain.print(live_table([WAITING]))
    assert "waits for its retry" in shown(plain)


def test_the_live_table_leaves_the_terminal_when_all_is_done() -> None:
    terminal = console(is_terminal=True)
    with display(terminal) as show:
        show([RUNNING, ENDED])
    text = shown(terminal)
    assert "bakery.example" in text
    assert text.endswith("\x1b[2K"), "the lines are cleared"
