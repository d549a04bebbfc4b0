"""Find a site's sitemaps and list the URLs in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import monotonic
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Rejected,
    RetryLater,
    ScraperSkyError,
)
from scrapersky.models import JOB_WORDS, Job, JobType
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.loop import RunReport, run_job_loop
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.scraper.events import (
    Analysis,
    Event,
    Limits,
    Outcome,
    SitemapDone,
    SitemapFound,
    UrlsFound,
)
from scrapersky.scraper.sitemap_analyzer import SitemapAnalyzer
from scrapersky.scraper.urls import Site
from scrapersky.settings import Pace, Settings
from scrapersky.sitemaps import outcome, storing
from scrapersky.sitemaps.names import SITEMAP_STAGE
from scrapersky.sitemaps.service import site_of

STORE_EVERY_SECONDS = 0.5
"""People watch: what was found is shown while the scan goes on."""
STORE_EVERY_EVENTS = 100
STORE_EVERY_URLS = 5_000
TIME_BUDGET = 0.9
"""Of the stage's timeout: a scan that runs out of it ends as truncated, not as failed."""


@dataclass(frozen=True)
class ScanRequest:
    """What the job asks for."""

    text: str
    max_urls: int


@dataclass(frozen=True)
class Findings:
    """Some of what a scan found, to be stored together."""

    events: tuple[Event, ...]
    progress: float
    phase: str
    rescan_interval: timedelta
    """When the site is looked at again if all goes well, as the settings have it now."""


class ScanFailed(ScraperSkyError):
    """The site could not be looked at; trying again later may help."""


def read(job: Job) -> ScanRequest:
    domain, max_pages = job.params.get("domain"), job.params.get("max_pages")
    if not isinstance(domain, str) or not domain:
        raise Rejected("The job names no domain.")
    if not isinstance(max_pages, int) or isinstance(max_pages, bool) or max_pages < 1:
        raise Rejected(f"The job's max_pages is {max_pages!r}; a number from 1 up is needed.")
    scheme, path = job.params.get("scheme"), job.params.get("path") or ""
    return ScanRequest(f"{scheme}://{domain}{path}" if scheme else f"{domain}{path}", max_pages)


async def work(request: ScanRequest, tools: Tools) -> AsyncIterator[Findings]:
    site = _site(request, tools.settings)
    analyzer = SitemapAnalyzer(
        tools.fetch,
        limits=_limits(tools.settings),
        user_agent=tools.settings.fetch_user_agent,
    )
    found = analyzer.analyze_domain_sitemaps(site, max_urls=request.max_urls)
    async with aclosing(found) as events:
        async for findings in _gathered(events, tools.settings.rescan_interval):
            for event in findings.events:
                _refuse_unreachable(event)
            yield findings


def _site(request: ScanRequest, settings: Settings) -> Site:
    try:
        return site_of(request.text, settings)
    except InvalidInput as error:
        raise Rejected(str(error)) from error


def _limits(settings: Settings) -> Limits:
    timeout = settings.pace(STAGE.prefix, STAGE.pace).timeout_seconds
    return Limits(
        max_bytes=settings.fetch_max_bytes,
        max_decompressed_bytes=settings.sitemap_max_decompressed_bytes,
        max_files=settings.sitemap_max_files_per_domain,
        max_depth=settings.sitemap_max_depth,
        max_seconds=timeout * TIME_BUDGET,
    )


async def _gathered(
    events: AsyncIterator[Event], rescan_interval: timedelta
) -> AsyncIterator[Findings]:
    """Events in handfuls: few transactions, and still something to see every half second."""
    tally = Tally()
    async for event in with_pauses(events, STORE_EVERY_SECONDS):
        if event is None:
            # The engine stores a handful when the next one comes, so an empty one pushes it out.
            if tally.handful or tally.unseen:
                yield tally.findings(rescan_interval)
            continue
        tally.add(event)
        if tally.is_full():
            yield tally.findings(rescan_interval)
    yield tally.findings(rescan_interval, ended=True)


@dataclass
class Tally:
    """The handful being gathered, and how far the scan has come."""

    handful: list[Event] = field(default_factory=list)
    urls: int = 0
    found: int = 0
    done: int = 0
    since: float = field(default_factory=monotonic)
    unseen: bool = False
    """The last handful had something in it and is not stored yet."""

    def add(self, event: Event) -> None:
        self.handful.append(event)
        self.urls += len(event.entries) if isinstance(event, UrlsFound) else 0
        self.found += isinstance(event, SitemapFound)
        self.done += isinstance(event, SitemapDone)

    def is_full(self) -> bool:
        late = monotonic() - self.since > STORE_EVERY_SECONDS
        many = len(self.handful) >= STORE_EVERY_EVENTS or self.urls >= STORE_EVERY_URLS
        return late or many

    def findings(self, rescan_interval: timedelta, *, ended: bool = False) -> Findings:
        progress = 1.0 if ended else _progress(self.found, self.done)
        phase = "done" if ended else _phase(self.found)
        findings = Findings(tuple(self.handful), progress, phase, rescan_interval)
        self.unseen = bool(self.handful)
        self.handful, self.urls, self.since = [], 0, monotonic()
        return findings


async def with_pauses(events: AsyncIterator[Event], seconds: float) -> AsyncIterator[Event | None]:
    """The events, and None whenever nothing has come for so long."""
    upcoming = asyncio.ensure_future(anext(events))
    try:
        while True:
            await asyncio.wait([upcoming], timeout=seconds)
            if not upcoming.done():
                yield None
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                return
            yield event
            upcoming = asyncio.ensure_future(anext(events))
    finally:
        upcoming.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await upcoming


def _progress(found: int, done: int) -> float:
    """A guess that never reaches the end before the end: how much more there is, nobody knows."""
    return 0.02 if not found else min(0.95, 0.05 + 0.9 * done / (found + 1))


def _phase(found: int) -> str:
    return "reading sitemaps" if found else "looking for sitemaps"


def _refuse_unreachable(event: Event) -> None:
    """A site that could not be looked at is no result."""
    if not isinstance(event, Analysis) or event.outcome is not Outcome.UNREACHABLE:
        return
    sentence = " ".join(event.errors) or "The site does not answer."
    if event.permanent:
        raise Rejected(sentence)
    if event.retry_after is not None:
        raise RetryLater(sentence, after=timedelta(seconds=max(event.retry_after, 1)))
    raise ScanFailed(sentence)


async def store(session: AsyncSession, job: Job, findings: Findings) -> None:
    job.progress, job.phase = max(job.progress, findings.progress), findings.phase
    for event in findings.events:
        if isinstance(event, SitemapFound):
            await storing.store_found(session, job, event)
        elif isinstance(event, UrlsFound):
            await storing.store_urls(session, job, event)
        elif isinstance(event, SitemapDone):
            await storing.store_done(session, job, event)
        elif isinstance(event, Analysis):
            await outcome.write_result(
                session, job, event, rescan_interval=findings.rescan_interval
            )


STAGE = Stage(
    name=SITEMAP_STAGE,
    does="Find a site's sitemaps, read them and store their URLs.",
    model=Job,
    status="status",
    words=JOB_WORDS,
    prefix="SITEMAP_SCHEDULER",
    pace=Pace(batch_size=25, max_instances=3, concurrency=8, timeout_seconds=900),
    only={"job_type": JobType.SITEMAP},
    priority="priority",
    started="started_at",
    finished="finished_at",
    aliases=("process_pending_jobs",),
    read=read,
    work=work,
    store=store,
    gave_up=outcome.write_failure,
)


async def process_domain_with_own_session(
    job_id: UUID, domain: str, user_id: UUID, max_urls: int = 100, *, engine: Engine
) -> EventKind:
    """Work one job now, whatever the queue says; `Conflict` tells who holds it otherwise."""
    runner = engine.runner(SITEMAP_STAGE)
    await _check_job(engine, job_id, domain, user_id)
    held = await runner.claim_by_id(job_id)
    if held is None:
        raise Conflict(await _who_holds(engine, job_id))
    if isinstance(held.item, ScanRequest):
        held.item = replace(held.item, max_urls=max_urls)
    runner.free_slots -= 1
    return await runner.begin(held)


async def _check_job(engine: Engine, job_id: UUID, domain: str, user_id: UUID) -> None:
    key = site_of(domain, engine.settings).key
    async with engine.database.reading() as session:
        job = await session.get(Job, job_id)
    if job is None or job.created_by != user_id:
        raise NotFound(f"User {user_id} has no job {job_id}.")
    if job.params.get("domain") != key:
        raise InvalidInput(f"Job {job_id} is for {job.params.get('domain')}, not for {key}.")


async def _who_holds(engine: Engine, job_id: UUID) -> str:
    async with engine.database.reading() as session:
        job = await session.get_one(Job, job_id)
    if job.status == JOB_WORDS.processing:
        return f"Job {job_id} is being worked by {job.worker_id}."
    return f"Job {job_id} is {job.status}."


async def process_pending_sitemaps(limit: int | None = None, *, engine: Engine) -> RunReport | None:
    """One run of this stage: the queue is drained, `limit` rows at a time."""
    runner = engine.runner(SITEMAP_STAGE)
    if limit is not None:
        runner.pace = replace(runner.pace, batch_size=limit)
    return await run_job_loop(runner)
