"""Show progress: a live table on a terminal, one line per event elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scrapersky.demo.progress import SiteProgress, SiteStep
from scrapersky.plurals import pluralise

ShowProgress = Callable[[Sequence[SiteProgress]], None]

STEPS = list(SiteStep)
RESERVED_LINES = 5
"""Terminal lines kept free for the title, the header and some spare room."""


@contextmanager
def open_display(console: Console) -> Iterator[ShowProgress]:
    """Yield a function that displays one progress snapshot."""
    if not console.is_terminal:
        yield build_line_printer(console)
        return
    with Live(console=console, refresh_per_second=10, transient=True) as live:
        yield lambda progress: live.update(
            build_live_table(progress, room=console.height - RESERVED_LINES)
        )


def build_line_printer(console: Console) -> ShowProgress:
    printed: set[tuple[str, str]] = set()

    def show(progress: Sequence[SiteProgress]) -> None:
        for each in progress:
            sentence = _describe_site(each)
            if sentence and (each.name, sentence) not in printed:
                printed.add((each.name, sentence))
                console.print(f"{each.name}: {sentence}", soft_wrap=True, highlight=False)

    return show


def _describe_site(progress: SiteProgress) -> str | None:
    """Return None while the site is in progress and has nothing to report."""
    if progress.waits_for_retry:
        return "waiting for retry"
    if not progress.has_ended:
        return None
    return f"{_describe_ending(progress)}, {_describe_findings([progress])}"


def _describe_ending(progress: SiteProgress) -> str:
    word = "failed" if progress.given_up else "done"
    return word if progress.attempts < 2 else f"{word} after {progress.attempts} attempts"


def _describe_findings(progress: Sequence[SiteProgress]) -> str:
    counts = (
        (sum(each.sitemaps for each in progress), "sitemap"),
        (sum(each.urls for each in progress), "URL"),
        (sum(each.pages for each in progress), "page"),
        (sum(each.contacts for each in progress), "contact"),
    )
    return ", ".join(pluralize(count, noun) for count, noun in counts)


def pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else pluralise(noun)}"


def build_live_table(progress: Sequence[SiteProgress], *, room: int = 100) -> Table:
    """Build the live table: pending retries first, then sites in progress, then finished sites.

    Only `room` rows are shown, so on a small screen finished sites drop out first.
    """
    ended = sum(each.has_ended for each in progress)
    title = f"{ended} of {len(progress)} sites done: {_describe_findings(progress)}"
    table = Table(title=title, title_justify="left", box=None)
    for heading in ("Site", "Step", ""):
        table.add_column(heading, no_wrap=True)
    for heading in ("Sitemaps", "URLs", "Pages", "Contacts"):
        table.add_column(heading, justify="right")
    ordered = sorted(progress, key=_get_urgency)
    for each in ordered[: max(room, 1)]:
        table.add_row(*_build_cells(each))
    return table


def _get_urgency(progress: SiteProgress) -> tuple[bool, bool, int]:
    return progress.has_ended, not progress.waits_for_retry, -STEPS.index(progress.step)


def _build_cells(progress: SiteProgress) -> tuple[str | Text | ProgressBar, ...]:
    return (
        progress.name,
        _describe_step(progress),
        ProgressBar(total=len(STEPS) - 1, completed=STEPS.index(progress.step), width=12),
        f"{progress.sitemaps:,}",
        f"{progress.urls:,}",
        f"{progress.pages:,}",
        f"{progress.contacts:,}",
    )


def _describe_step(progress: SiteProgress) -> Text:
    if progress.waits_for_retry:
        return Text("waiting for retry", style="yellow")
    if progress.has_ended:
        return Text(_describe_ending(progress), style="red" if progress.given_up else "green")
    return Text(progress.step, style="cyan")


@contextmanager
def silence_logs(*, enabled: bool) -> Iterator[None]:
    """Raise the log level to critical unless logs are wanted, because log lines would break the
    display.
    """
    ours = logging.getLogger("scrapersky")
    before = ours.level
    if not enabled:
        ours.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        ours.setLevel(before)
