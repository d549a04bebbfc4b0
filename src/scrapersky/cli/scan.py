"""`scrapersky scan`: scan one site and show its progress."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from time import monotonic
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text
from sqlalchemy import Float, Select, cast, extract, func, select

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.output import err, format_count, format_duration, note
from scrapersky.cli.scan_report import ScanResult, get_exit_code, print_result, print_result_as_json
from scrapersky.cli.session import (
    CommandContext,
    load_interactive_settings,
    open_context,
    run,
    silence_logger,
)
from scrapersky.db.outages import is_unavailable
from scrapersky.errors import Conflict, DatabaseRefused, NotFound
from scrapersky.jobs import service as job_service
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import JOB_STATUSES, Job, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import FileStatus
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.tables import EventKind
from scrapersky.scraper.sitemaps.events import SitemapType
from scrapersky.settings import Settings
from scrapersky.sitemaps import discovery, service
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT

POLL_SECONDS = 0.2
DATABASE_TIMEOUT_SECONDS = 60.0
"""Long enough for a database restart, which the running work survives as well."""


@dataclass(frozen=True)
class ScanSnapshot:
    """State of the job at one poll."""

    status: str
    phase: str | None
    attempts: int
    error: str | None
    due_in_seconds: float
    sitemaps: int
    urls: int
    database_is_away: bool = False

    @property
    def has_ended(self) -> bool:
        return self.status not in (JOB_STATUSES.queued, JOB_STATUSES.processing)

    @property
    def is_due(self) -> bool:
        return self.status == JOB_STATUSES.queued and self.due_in_seconds <= 0

    @property
    def waits(self) -> bool:
        return self.status == JOB_STATUSES.queued and self.due_in_seconds > 0


SnapshotCallback = Callable[[ScanSnapshot], None]


@asynccontextmanager
async def run_interactive_engine(context: CommandContext) -> AsyncIterator[Engine]:
    """Run an engine for a command with a progress display.

    Pipeline logs are silenced because the display shows failures. Ctrl-C does not wait for running
    work.
    """
    silence_logger("scrapersky.pipeline", context.settings)
    impatient = context.settings.model_copy(update={"shutdown_grace_seconds": 0})
    async with run_engine(context.database, impatient, [discovery.STAGE]) as engine:
        yield engine


class ScanRun:
    """Processes the job when it is due and unclaimed, and polls it until it ends."""

    def __init__(self, engine: Engine, job: Job, show: SnapshotCallback) -> None:
        self.engine = engine
        self.job = job
        self.show = show
        self._working: asyncio.Task[EventKind] | None = None
        self._sight: ScanSnapshot | None = None
        self._answered_at = self._rescued_at = monotonic()

    async def run_to_end(self) -> None:
        try:
            while not (snapshot := await self._poll()).has_ended:
                if not self._is_working():
                    await self._claim_or_rescue(snapshot)
                await self._wait_for_poll()
        finally:
            await self._wait_for_claim()

    def _is_working(self) -> bool:
        return self._working is not None and not self._working.done()

    async def _wait_for_poll(self) -> None:
        """Wait for the poll interval, or until our own work ends."""
        if self._working is not None and self._is_working():
            await asyncio.wait([self._working], timeout=POLL_SECONDS)
        else:
            await asyncio.sleep(POLL_SECONDS)

    async def _claim_or_rescue(self, snapshot: ScanSnapshot) -> None:
        self._raise_work_error()
        if snapshot.database_is_away:
            return
        if snapshot.is_due:
            self._working = asyncio.create_task(self._work(), name="scan")
        elif monotonic() - self._rescued_at > self.engine.settings.worker_beat_seconds:
            # The worker that holds the job may have died, and we may be the only process that can
            # notice.
            self._rescued_at = monotonic()
            await self.engine.rescuer.rescue()

    async def _work(self) -> EventKind:
        params = self.job.params
        return await discovery.process_domain_with_own_session(
            self.job.id,
            params.get("domain") or self.job.subject,
            self.job.created_by,
            params.get("max_pages", MAX_PAGES_LIMIT),
            engine=self.engine,
        )

    def _raise_work_error(self) -> None:
        """Raise the error of our work, unless another worker claimed the job first or the database
        is down.
        """
        if self._working is None or (error := self._working.exception()) is None:
            return
        self._working = None
        if not isinstance(error, Conflict) and not is_unreachable(error):
            raise error

    async def _wait_for_claim(self) -> None:
        """Wait for a pending claim when interrupted: the engine can only release claims it has
        registered.
        """
        held = self.engine.runner(SITEMAP_STAGE).held
        while self._is_working() and not held:  # noqa: ASYNC110 (there is no event for it)
            await asyncio.sleep(0.01)

    async def _poll(self) -> ScanSnapshot:
        try:
            self._sight = await self._load_snapshot()
            self._answered_at = monotonic()
        except Exception as error:
            if not is_unreachable(error):
                raise
            self._sight = self._build_stale_snapshot(error)
        self.show(self._sight)
        return self._sight

    def _build_stale_snapshot(self, error: Exception) -> ScanSnapshot:
        if self._sight is None or monotonic() - self._answered_at > DATABASE_TIMEOUT_SECONDS:
            raise DatabaseRefused(
                f"The database has not answered for {DATABASE_TIMEOUT_SECONDS:.0f} s. "
                f"Job {self.job.id} continues when the database is back and a worker runs."
            ) from error
        return replace(self._sight, database_is_away=True)

    async def _load_snapshot(self) -> ScanSnapshot:
        async with self.engine.database.reading() as session:
            result = await session.execute(_select_snapshot(self.job.id))
            facts = result.one_or_none()
        if facts is None:
            raise NotFound(f"Job {self.job.id} was deleted.")
        return ScanSnapshot(**facts._mapping)


def _select_snapshot(job_id: UUID) -> Select[Any]:
    """Select the job's state and counts. Only the URLs of files being read are counted row by row;
    the other files have a stored count.
    """
    files = select(SitemapFile.id).where(SitemapFile.job_id == job_id)
    being_read = files.where(SitemapFile.status == FileStatus.READING)
    counted = select(func.coalesce(func.sum(SitemapFile.url_count), 0)).where(
        SitemapFile.job_id == job_id,
        SitemapFile.status != FileStatus.READING,
        SitemapFile.sitemap_type.is_distinct_from(SitemapType.INDEX),
    )
    counting = select(func.count(SitemapUrl.id)).where(SitemapUrl.sitemap_id.in_(being_read))
    return select(
        Job.status,
        Job.phase,
        Job.attempts,
        Job.error,
        cast(extract("epoch", Job.due_at - func.now()), Float).label("due_in_seconds"),
        files.with_only_columns(func.count()).scalar_subquery().label("sitemaps"),
        (counted.scalar_subquery() + counting.scalar_subquery()).label("urls"),
    ).where(Job.id == job_id)


def is_unreachable(error: BaseException) -> bool:
    return isinstance(error, OSError) or is_unavailable(error)


RATE_WINDOW_SECONDS = 5.0
"""Sliding window of the displayed rate."""
LINE_INTERVAL_SECONDS = 5.0
"""Minimum interval between lines that differ only in their counts."""


@contextmanager
def show_progress(subject: str, *, quiet: bool) -> Iterator[SnapshotCallback]:
    """Yield a callback that displays snapshots: live on a terminal, as lines otherwise."""
    if quiet:
        yield lambda snapshot: None
    elif err.is_terminal:
        with _show_live(subject) as show:
            yield show
    else:
        yield LinePrinter(subject).show


class RateMeter:
    """Elapsed time and URLs per second."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._began = now()
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def elapsed(self) -> float:
        return self._now() - self._began

    def rate(self, urls: int) -> float:
        """Return URLs per second over the sliding window."""
        now = self._now()
        self._samples.append((now, urls))
        while now - self._samples[0][0] > RATE_WINDOW_SECONDS:
            self._samples.popleft()
        since, before = self._samples[0]
        return max(urls - before, 0) / (now - since) if now > since else 0.0


@contextmanager
def _show_live(subject: str) -> Iterator[SnapshotCallback]:
    meter, spinner = RateMeter(), Spinner("dots")
    with Live(console=err, refresh_per_second=10, transient=True) as live, _print_logs_above():
        yield lambda snapshot: live.update(_render_progress(subject, snapshot, meter, spinner))


@contextmanager
def _print_logs_above() -> Iterator[None]:
    """Redirect log handlers to the stderr of `Live`, which prints lines above the display."""
    handlers = [each for each in logging.root.handlers if isinstance(each, logging.StreamHandler)]
    before = [each.setStream(sys.stderr) for each in handlers]
    try:
        yield
    finally:
        for handler, stream in zip(handlers, before, strict=True):
            if stream is not None:
                handler.setStream(stream)


def _render_progress(
    subject: str, snapshot: ScanSnapshot, meter: RateMeter, spinner: Spinner
) -> RenderableType:
    rate = meter.rate(snapshot.urls)
    facts = [
        describe_phase(snapshot),
        *_format_counts(snapshot),
        *([f"{rate:,.0f} URLs/s"] if rate else []),
        format_duration(meter.elapsed),
    ]
    spinner.update(text=Text.assemble((subject, "bold"), "  ", " · ".join(facts)))
    trouble = describe_trouble(snapshot)
    return Group(spinner, Text(f"  {trouble}", style="yellow")) if trouble else spinner


def describe_phase(snapshot: ScanSnapshot) -> str:
    if snapshot.database_is_away:
        return "waiting for the database"
    if snapshot.waits:
        return f"retrying in {max(snapshot.due_in_seconds, 1):,.0f} s"
    if snapshot.status == JOB_STATUSES.queued:
        return "starting"
    return snapshot.phase or "finding sitemaps"


def describe_trouble(snapshot: ScanSnapshot) -> str:
    """Describe the previous failed attempt, if any."""
    if snapshot.status == JOB_STATUSES.queued and snapshot.error:
        return f"attempt {snapshot.attempts} failed: {snapshot.error}"
    return f"attempt {snapshot.attempts}" if snapshot.attempts > 1 else ""


def _format_counts(snapshot: ScanSnapshot) -> list[str]:
    if not snapshot.sitemaps:
        return []
    return [format_count(snapshot.sitemaps, "sitemap"), format_count(snapshot.urls, "URL")]


class LinePrinter:
    """Prints one line per change, for logs and pipes."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._meter = RateMeter()
        self._said: tuple[object, ...] = ()
        self._line_at = 0.0

    def show(self, snapshot: ScanSnapshot) -> None:
        if snapshot.has_ended:
            return
        doing = "waiting to retry" if snapshot.waits else describe_phase(snapshot)
        state = (doing, snapshot.attempts, snapshot.error)
        counts = (snapshot.sitemaps, snapshot.urls)
        grown = self._said[1:] != (counts,) and self._meter.elapsed - self._line_at > (
            LINE_INTERVAL_SECONDS
        )
        if self._said[:1] == (state,) and not grown:
            return
        self._said, self._line_at = (state, counts), self._meter.elapsed
        facts = [
            describe_phase(snapshot),
            *_format_counts(snapshot),
            format_duration(self._meter.elapsed),
        ]
        trouble = f" ({text})" if (text := describe_trouble(snapshot)) else ""
        note(f"{self._subject}: {', '.join(facts)}{trouble}")


def scan(
    domain: Annotated[str, typer.Argument(help="Domain or URL, for example example.com.")],
    max_pages: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_PAGES_LIMIT, help="Maximum number of URLs to store."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> int:
    """Find a site's sitemaps, store their URLs and show a summary."""
    settings = load_interactive_settings()
    parse_site(domain, settings)  # reject invalid input before starting a database
    return run(_scan(settings, domain, max_pages, as_json))


async def _scan(settings: Settings, domain: str, max_pages: int | None, as_json: bool) -> int:
    began = monotonic()
    async with open_context(settings) as context:
        job = await _request_scan(context, domain, max_pages, quiet=as_json)
        try:
            await _run_to_end(context, job, quiet=as_json)
        except asyncio.CancelledError:
            note(await _describe_interruption(context, job.id))
            return ExitCode.INTERRUPTED
        ended = await _load_result(context, job.id, seconds=monotonic() - began)
    print_result_as_json(ended) if as_json else print_result(ended)
    return get_exit_code(ended)


async def _request_scan(
    context: CommandContext, domain: str, max_pages: int | None, *, quiet: bool
) -> Job:
    async with context.database.transaction() as session:
        job, created = await service.request_scan(
            session, context.actor, context.settings, domain, max_pages
        )
    if not created and not quiet:
        note(f"Job {job.id} is already scanning {job.subject}; showing its progress.")
    return job


async def _run_to_end(context: CommandContext, job: Job, *, quiet: bool) -> None:
    with show_progress(job.subject, quiet=quiet) as show:
        async with run_interactive_engine(context) as engine:
            await ScanRun(engine, job, show).run_to_end()


async def _load_result(context: CommandContext, job_id: UUID, *, seconds: float) -> ScanResult:
    async with context.database.reading() as session:
        job = await job_service.get(session, context.actor, job_id)
        return ScanResult(job, tuple(await service.list_job_files(session, job)), seconds)


async def _describe_interruption(context: CommandContext, job_id: UUID) -> str:
    async with context.database.reading() as session:
        job = await job_service.get(session, context.actor, job_id)
    if job.status == JOB_STATUSES.queued:
        return (
            f"Interrupted. Job {job_id} was released; it continues when a worker or "
            "`scrapersky serve` runs."
        )
    if job.status == JOB_STATUSES.processing:
        return f"Interrupted. Job {job_id} continues in another process."
    return f"Interrupted. Job {job_id} is {job.status}."
