"""Find a site's sitemaps and list the URLs in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import monotonic
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Rejected,
    RetryLater,
    ScraperSkyError,
)
from scrapersky.jobs import service as job_service
from scrapersky.models import JOB_WORDS, Domain, Job, JobType, SitemapFile, SitemapUrl
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.loop import RunReport, run_job_loop
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.scraper.events import (
    Analysis,
    BaseFound,
    Event,
    Limits,
    Outcome,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
    UrlsFound,
)
from scrapersky.scraper.known import Known
from scrapersky.scraper.sitemap_analyzer import SitemapAnalyzer
from scrapersky.scraper.urls import Site
from scrapersky.settings import Pace, Settings
from scrapersky.sitemaps import outcome, service, storing
from scrapersky.sitemaps.importing import queue_import
from scrapersky.sitemaps.memory import remembered, with_doubts
from scrapersky.sitemaps.names import IMPORT_STAGE, ONLY_SITEMAP, SITEMAP_STAGE
from scrapersky.sitemaps.pacing import Rhythm
from scrapersky.sitemaps.service import site_of
from scrapersky.sitemaps.url_rows import Sightings, UrlRows, rows_of

STORE_EVERY_SECONDS = 0.5
"""People watch: what was found is shown while the scan goes on."""
STORE_EVERY_EVENTS = 100
STORE_EVERY_URLS = 5_000
TIME_BUDGET = 0.9
"""Of the stage's timeout: a scan that runs out of it ends as truncated, not as failed."""


@dataclass(frozen=True)
class ScanRequest:
    """What the job asks for, and what is known of the domain from earlier scans."""

    text: str
    max_urls: int
    domain_id: UUID | None = None
    known: Known = field(default_factory=Known)
    read_before: frozenset[str] = frozenset()
    """Sitemaps that have stored URLs: of these we note what is still there."""
    only_sitemap: str | None = None
    """A sitemap that was handed in: it and its children are read, nothing else is looked for."""
    job_id: UUID | None = None
    is_first: bool = False
    """No URL of the domain is stored, and nobody else is about to: what this scan comes across
    only once, only one sitemap lists."""


@dataclass(frozen=True)
class Findings:
    """Some of what a scan found, to be stored together."""

    events: tuple[Event | UrlRows, ...]
    progress: float
    phase: str
    rhythm: Rhythm
    auto_import: bool = False
    """Whether files that were read are handed on to the import."""
    seen: Mapping[str, bytes] = field(default_factory=dict)
    """For sitemaps read to their end that were read before: the digests of all they list now."""


class ScanFailed(ScraperSkyError):
    """The site could not be looked at; trying again later may help."""


def read(job: Job) -> ScanRequest:
    domain, max_pages = job.params.get("domain"), job.params.get("max_pages")
    if not isinstance(domain, str) or not domain:
        raise Rejected("The job names no domain.")
    if not isinstance(max_pages, int) or isinstance(max_pages, bool) or max_pages < 1:
        raise Rejected(f"The job's max_pages is {max_pages!r}; a number from 1 up is needed.")
    scheme, path = job.params.get("scheme"), job.params.get("path") or ""
    text = f"{scheme}://{domain}{path}" if scheme else f"{domain}{path}"
    return ScanRequest(
        text,
        max_pages,
        domain_id=job.domain_id,
        only_sitemap=job.params.get(ONLY_SITEMAP),
        job_id=job.id,
    )


async def prepare(session: AsyncSession, request: ScanRequest) -> ScanRequest:
    if request.domain_id is None:
        return request
    files = await service.files_of_domain(session, request.domain_id)
    domain = await session.get_one(Domain, request.domain_id)
    now = (await session.scalars(select(func.now()))).one()
    return replace(
        request,
        known=remembered(domain, files, now=now),
        read_before=frozenset(file.url for file in files if file.url_count),
        is_first=await _is_first(session, request),
    )


async def _is_first(session: AsyncSession, request: ScanRequest) -> bool:
    stored = exists().where(
        SitemapFile.domain_id == request.domain_id, SitemapUrl.sitemap_id == SitemapFile.id
    )
    others = exists().where(
        Job.domain_id == request.domain_id,
        Job.job_type == JobType.SITEMAP,
        Job.id != request.job_id,
        job_service.is_active(),
    )
    return bool(await session.scalar(select(~(stored | others))))


async def work(request: ScanRequest, tools: Tools) -> AsyncIterator[Findings]:
    site = _site(request, tools.settings)
    analyzer = SitemapAnalyzer(
        tools.fetch,
        limits=_limits(tools.settings),
        user_agent=tools.settings.fetch_user_agent,
    )
    known = with_doubts(request.known, after=timedelta(days=tools.settings.sitemap_recheck_days))
    only = request.only_sitemap
    found = analyzer.analyze_domain_sitemaps(
        site,
        max_urls=request.max_urls,
        seeds=[only] if only else (),
        only_seeds=only is not None,
        known=known,
    )
    async with aclosing(found) as events:
        async for findings in _gathered(events, tools.settings, request):
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
    events: AsyncIterator[Event], settings: Settings, request: ScanRequest
) -> AsyncIterator[Findings]:
    """Events in handfuls: few transactions, and still something to see every half second."""
    sightings = Sightings(request.max_urls) if request.is_first else None
    tally = Tally(
        settings, request.read_before, sightings, import_asked=request.only_sitemap is not None
    )
    async for event in with_pauses(events, STORE_EVERY_SECONDS):
        if event is None:
            # The engine stores a handful when the next one comes, so an empty one pushes it out.
            if tally.handful or tally.unseen:
                yield tally.findings()
            continue
        tally.add(event)
        if tally.is_full():
            yield tally.findings()
    yield tally.findings(ended=True)


@dataclass
class Tally:
    """The handful being gathered, and how far the scan has come."""

    settings: Settings
    read_before: frozenset[str]
    sightings: Sightings | None = None
    import_asked: bool = False
    """Who hands in a sitemap wants its pages."""
    reading: dict[str, bytearray] = field(default_factory=dict)
    """Digests of what the sitemaps being read list, as far as they were read before."""
    seen: dict[str, bytes] = field(default_factory=dict)
    handful: list[Event | UrlRows] = field(default_factory=list)
    urls: int = 0
    found: int = 0
    done: int = 0
    since: float = field(default_factory=monotonic)
    unseen: bool = False
    """The last handful had something in it and is not stored yet."""

    def add(self, event: Event) -> None:
        if isinstance(event, UrlsFound):
            self._add_urls(event)
            return
        self.handful.append(event)
        if isinstance(event, SitemapUnchanged):
            self.found += 1
            self.done += 1
        elif isinstance(event, SitemapFound):
            self.found += 1
            self.reading.pop(event.url, None)
        elif isinstance(event, SitemapDone):
            self.done += 1
            self._conclude(event)

    def _add_urls(self, event: UrlsFound) -> None:
        is_known = event.sitemap_url in self.read_before
        found = UrlRows(event.sitemap_url, rows_of(event.entries, self.sightings), is_known)
        self.handful.append(found)
        self.urls += len(found.rows)
        if is_known:
            self.reading.setdefault(event.sitemap_url, bytearray()).extend(found.digests())

    def _conclude(self, event: SitemapDone) -> None:
        """Gone is only what a complete read did not find."""
        digests = self.reading.pop(event.url, bytearray())
        if event.url in self.read_before and event.status is SitemapStatus.OK:
            self.seen[event.url] = bytes(digests)

    def is_full(self) -> bool:
        late = monotonic() - self.since > STORE_EVERY_SECONDS
        many = len(self.handful) >= STORE_EVERY_EVENTS or self.urls >= STORE_EVERY_URLS
        return late or many

    def findings(self, *, ended: bool = False) -> Findings:
        progress = 1.0 if ended else _progress(self.found, self.done)
        phase = "done" if ended else _phase(self.found)
        findings = Findings(
            tuple(self.handful),
            progress,
            phase,
            rhythm=Rhythm.of(self.settings),
            auto_import=self.settings.auto_import_sitemaps or self.import_asked,
            seen=self.seen,
        )
        self.unseen = bool(self.handful)
        self.handful, self.seen, self.urls, self.since = [], {}, 0, monotonic()
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


def _refuse_unreachable(event: Event | UrlRows) -> None:
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
    unchanged = [event for event in findings.events if isinstance(event, SitemapUnchanged)]
    if unchanged:
        await storing.store_unchanged(session, job, unchanged)
    for event in findings.events:
        match event:
            case BaseFound():
                await storing.store_robots(session, job, event)
            case SitemapFound():
                await storing.store_found(session, job, event)
            case UrlRows():
                outcome.note_changes(job, await storing.store_urls(session, job, event))
            case SitemapDone():
                await _store_done(session, job, event, findings)
            case Analysis():
                await outcome.write_result(session, job, event, rhythm=findings.rhythm)


async def _store_done(
    session: AsyncSession, job: Job, done: SitemapDone, findings: Findings
) -> None:
    await storing.store_done(session, job, done)
    if done.url in findings.seen:
        seen = findings.seen[done.url]
        outcome.note_changes(job, await storing.mark_gone(session, job, done.url, seen))
    is_list = done.sitemap_type is not SitemapType.INDEX
    if (
        findings.auto_import
        and is_list
        and done.status in (SitemapStatus.OK, SitemapStatus.PARTIAL)
    ):
        await queue_import(session, [await storing.file_id(session, job, done.url)])


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
    feeds=(IMPORT_STAGE,),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
    gave_up=outcome.write_failure,
    cancelled=job_service.postpone_domains,
    fresh={"progress": 0, "phase": None},
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
