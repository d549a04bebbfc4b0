"""Show the jobs while they run: a live table on a terminal, a line per ended job elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scrapersky.demo.watching import Sight
from scrapersky.models import JOB_WORDS

Show = Callable[[Sequence[Sight]], None]

COLOURS = {
    JOB_WORDS.queued: "dim",
    JOB_WORDS.processing: "cyan",
    JOB_WORDS.done: "green",
    JOB_WORDS.failed: "red",
}


@contextmanager
def display(console: Console) -> Iterator[Show]:
    """Something to hand every look at the jobs to."""
    if not console.is_terminal:
        yield line_by_line(console)
        return
    with Live(console=console, refresh_per_second=10, transient=True) as live:
        yield lambda sights: live.update(live_table(sights))


def line_by_line(console: Console) -> Show:
    told: set[str] = set()

    def show(sights: Sequence[Sight]) -> None:
        for each in sights:
            if each.has_ended and each.name not in told:
                told.add(each.name)
                console.print(_sentence(each), soft_wrap=True, highlight=False)

    return show


def _sentence(sight: Sight) -> str:
    found = f"{counted(sight.sitemaps, 'sitemap')}, {counted(sight.urls, 'URL')}"
    return f"{sight.name}: {sight.status}, {found}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def live_table(sights: Sequence[Sight]) -> Table:
    ended = sum(each.has_ended for each in sights)
    table = Table(title=f"{ended} of {len(sights)} sites done", title_justify="left", box=None)
    for heading in ("Site", "Status", ""):
        table.add_column(heading, no_wrap=True)
    table.add_column("Sitemaps", justify="right")
    table.add_column("URLs", justify="right", min_width=6)
    table.add_column("Phase", no_wrap=True, min_width=20)
    for each in sights:
        table.add_row(*_cells(each))
    return table


def _cells(sight: Sight) -> tuple[str | Text | ProgressBar, ...]:
    progress = 1.0 if sight.has_ended else sight.progress
    return (
        sight.name,
        Text(sight.status, style=COLOURS.get(sight.status, "")),
        ProgressBar(total=1.0, completed=progress, width=12),
        f"{sight.sitemaps:,}",
        f"{sight.urls:,}",
        Text("waits for its retry" if sight.waits_for_retry else sight.phase or "", style="dim"),
    )


@contextmanager
def quiet_logs(*, wanted: bool) -> Iterator[None]:
    """What happens is on the screen already; log lines would run through it."""
    ours = logging.getLogger("scrapersky")
    before = ours.level
    if not wanted:
        ours.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ours.setLevel(before)
