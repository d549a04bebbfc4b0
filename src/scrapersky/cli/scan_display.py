"""Show a scan while it runs: live on a terminal, line by line elsewhere, not at all if asked."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from scrapersky.cli.output import clock, counted, err, note
from scrapersky.cli.scan_run import Show, Sight
from scrapersky.models import JOB_WORDS

RATE_SECONDS = 5.0
"""The rate shown is that of the last few seconds."""
LINE_EVERY_SECONDS = 5.0
"""Where lines are kept, counts alone are worth a new one this often."""


@contextmanager
def display(subject: str, *, quiet: bool) -> Iterator[Show]:
    """Something to hand every look at the job to."""
    if quiet:
        yield lambda sight: None
    elif err.is_terminal:
        with _live(subject) as show:
            yield show
    else:
        yield Lines(subject).show


class Meter:
    """How long it has been going on, and how fast."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._began = now()
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def elapsed(self) -> float:
        return self._now() - self._began

    def rate(self, urls: int) -> float:
        """URLs per second of late."""
        now = self._now()
        self._samples.append((now, urls))
        while now - self._samples[0][0] > RATE_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return max(urls - before, 0) / (now - since) if now > since else 0.0


@contextmanager
def _live(subject: str) -> Iterator[Show]:
    meter, spinner = Meter(), Spinner("dots")
    with Live(console=err, refresh_per_second=10, transient=True) as live, _logs_above():
        yield lambda sight: live.update(_lines(subject, sight, meter, spinner))


@contextmanager
def _logs_above() -> Iterator[None]:
    """Log lines go where Live puts what is printed meanwhile: above itself, not through itself."""
    handlers = [each for each in logging.root.handlers if isinstance(each, logging.StreamHandler)]
    before = [each.setStream(sys.stderr) for each in handlers]
    try:
        yield
    finally:
        for handler, stream in zip(handlers, before, strict=True):
            if stream is not None:
                handler.setStream(stream)


def _lines(subject: str, sight: Sight, meter: Meter, spinner: Spinner) -> RenderableType:
    rate = meter.rate(sight.urls)
    facts = [
        phase_of(sight),
        *_counts(sight),
        *([f"{rate:,.0f} URLs/s"] if rate else []),
        clock(meter.elapsed),
    ]
    spinner.update(text=Text.assemble((subject, "bold"), "  ", " · ".join(facts)))
    trouble = trouble_of(sight)
    return Group(spinner, Text(f"  {trouble}", style="yellow")) if trouble else spinner


def phase_of(sight: Sight) -> str:
    if sight.database_is_away:
        return "waiting for the database"
    if sight.waits:
        return f"next try in {max(sight.due_in_seconds, 1):,.0f} s"
    if sight.status == JOB_WORDS.queued:
        return "starting"
    return sight.phase or "looking for sitemaps"


def trouble_of(sight: Sight) -> str:
    """Why this is not the first attempt."""
    if sight.status == JOB_WORDS.queued and sight.error:
        return f"attempt {sight.attempts} failed: {sight.error}"
    return f"attempt {sight.attempts}" if sight.attempts > 1 else ""


def _counts(sight: Sight) -> list[str]:
    if not sight.sitemaps:
        return []
    return [counted(sight.sitemaps, "sitemap"), counted(sight.urls, "URL")]


class Lines:
    """One line per change, for logs and pipes."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._meter = Meter()
        self._said: tuple[object, ...] = ()
        self._line_at = 0.0

    def show(self, sight: Sight) -> None:
        if sight.has_ended:
            return
        doing = "waiting to try again" if sight.waits else phase_of(sight)
        state = (doing, sight.attempts, sight.error)
        counts = (sight.sitemaps, sight.urls)
        grown = self._said[1:] != (counts,) and self._meter.elapsed - self._line_at > (
            LINE_EVERY_SECONDS
        )
        if self._said[:1] == (state,) and not grown:
            return
        self._said, self._line_at = (state, counts), self._meter.elapsed
        facts = [phase_of(sight), *_counts(sight), clock(self._meter.elapsed)]
        trouble = f" ({text})" if (text := trouble_of(sight)) else ""
        note(f"{self._subject}: {', '.join(facts)}{trouble}")
