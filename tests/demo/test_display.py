"""The display shows every site, live or line by line."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from scrapersky.demo.display import build_live_table, open_display
from scrapersky.demo.progress import SiteProgress, SiteStep

RUNNING = SiteProgress(
    "bakery.example", SiteStep.SITEMAPS, sitemaps=2, urls=1_234, pages=3, contacts=5
)
WAITING = SiteProgress("cinema.example", SiteStep.HOME_PAGE, waits_for_retry=True)
ENDED = SiteProgress("florist.example", SiteStep.DONE, sitemaps=1, urls=64, pages=2, contacts=1)
GIVEN_UP = SiteProgress("cinema.example", SiteStep.DONE, given_up=True, attempts=2)


def console(*, is_terminal: bool) -> Console:
    return Console(file=StringIO(), width=120, force_terminal=is_terminal)


def shown(on: Console) -> str:
    assert isinstance(on.file, StringIO)
    return on.file.getvalue()


def printed(*sights: SiteProgress, room: int = 100) -> str:
    plain = console(is_terminal=False)
    plain.print(build_live_table(sights, room=room))
    return shown(plain)


def test_an_ended_site_is_one_line_told_once_when_nobody_watches() -> None:
    plain = console(is_terminal=False)
    with open_display(plain) as show:
        show([RUNNING])
        show([RUNNING, ENDED])
        show([RUNNING, ENDED])
    assert shown(plain) == "florist.example: done, 1 sitemap, 64 URLs, 2 pages, 1 contact\n"


def test_a_retry_and_a_site_that_is_given_up_are_told_as_well() -> None:
    plain = console(is_terminal=False)
    with open_display(plain) as show:
        show([WAITING])
        show([WAITING])
        show([GIVEN_UP])
    assert shown(plain).splitlines() == [
        "cinema.example: waiting for retry",
        "cinema.example: failed after 2 attempts, 0 sitemaps, 0 URLs, 0 pages, 0 contacts",
    ]


def test_a_terminal_shows_where_each_site_is_and_what_was_found() -> None:
    text = printed(RUNNING, WAITING, ENDED)
    assert "1 of 3 sites done: 3 sitemaps, 1,298 URLs, 5 pages, 6 contacts" in text
    row = next(line for line in text.splitlines() if "bakery" in line)
    assert all(word in row for word in ("sitemaps", " 2 ", "1,234", " 3 ", " 5"))


def test_a_site_between_two_attempts_says_that_it_waits() -> None:
    assert "waiting for retry" in printed(WAITING)


def test_on_a_small_screen_ended_sites_make_room_for_those_under_way() -> None:
    text = printed(ENDED, RUNNING, WAITING, room=2)
    assert "florist.example" not in text
    assert text.index("cinema.example") < text.index("bakery.example"), "retries come first"


def test_the_live_table_leaves_the_terminal_when_all_is_done() -> None:
    terminal = console(is_terminal=True)
    with open_display(terminal) as show:
        show([RUNNING, ENDED])
    text = shown(terminal)
    assert "bakery.example" in text
    assert text.endswith("\x1b[2K"), "the lines are cleared"
