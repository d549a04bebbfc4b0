"""Stage: discover a site's sitemaps and store their URLs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
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
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import JOB_STATUSES, Domain, Job, JobType, SitemapFile, SitemapUrl
from scrapersky.models.sitemaps import FileStatus
from scrapersky.models.stage_names import IMPORT_STAGE, SITEMAP_STAGE
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.pipeline.tables import EventKind
from scrapersky.pipeline.vitals import RunReport
from scrapersky.scraper.http.urls import Site
from scrapersky.scraper.sitemaps.events import (
    Analysis,
    BaseFound,
    DiscoveryMethod,
    PreviousRobots,
    PreviousScan,
    PreviousSitemap,
    ScanEvent,
    ScanLimits,
    ScanOutcome,
    SitemapDone,
    SitemapFound,
    SitemapStatus,
    SitemapType,
    SitemapUnchanged,
)
from scrapersky.scraper.sitemaps.sitemap_analyzer import SitemapAnalyzer
from scrapersky.settings import Pace, Settings
from scrapersky.sitemaps import outcome, service, storage
from scrapersky.sitemaps.imports import queue_import
from scrapersky.sitemaps.scan_buffer import (
    ScanBuffer,
    ScanFindings,
    UrlBloomFilter,
    UrlRows,
    batch_events,
)
from scrapersky.sitemaps.service import ONLY_SITEMAP_PARAM
from scrapersky.sitemaps.storage import LASTMOD_TRUST_THRESHOLD


def build_previous_scan(
    domain: Domain, files: Sequence[SitemapFile], *, now: datetime
) -> PreviousScan:
    """Build the previous scan from files that were read completely and still exist. Others are read
    again.
    """
    current = [file for file in files if file.gone_at is None]
    children: defaultdict[str, list[tuple[str, datetime | None]]] = defaultdict(list)
    for file in current:
        if file.parent_url is not None:
            children[file.parent_url].append((file.url, file.index_lastmod))
    return PreviousScan(
        sitemaps={
            file.url: _build_previous_sitemap(file, tuple(children[file.url]), now)
            for file in current
            if _is_fully_read(file, len(children[file.url]))
        },
        robots=_build_previous_robots(domain),
        from_home_page=tuple(
            file.url for file in current if file.discovery_method == DiscoveryMethod.HTML_LINK
        ),
    )


def _is_fully_read(file: SitemapFile, children: int) -> bool:
    """Return whether the file was read completely. For an index all its children must be stored: a
    killed scan may have read the index but not all of them.
    """
    if file.status != FileStatus.OK or file.content_hash is None:
        return False
    return file.sitemap_type != SitemapType.INDEX or children == file.url_count


def expire_lastmod_trust(known: PreviousScan, *, after: timedelta) -> PreviousScan:
    """Stop trusting the index's lastmod for sitemaps that were not requested for `after`.

    Only this reveals an index that gives old dates to new content.
    """
    return replace(
        known,
        sitemaps={
            url: replace(each, is_lastmod_trusted=False) if _is_trust_expired(each, after) else each
            for url, each in known.sitemaps.items()
        },
    )


def _is_trust_expired(known: PreviousSitemap, after: timedelta) -> bool:
    return known.unasked_for is None or known.unasked_for >= after


def _build_previous_sitemap(
    file: SitemapFile, children: tuple[tuple[str, datetime | None], ...], now: datetime
) -> PreviousSitemap:
    return PreviousSitemap(
        url=file.url,
        sitemap_type=SitemapType(file.sitemap_type) if file.sitemap_type else None,
        url_count=file.url_count,
        etag=file.etag,
        last_modified=file.last_modified,
        content_hash=file.content_hash,
        index_lastmod=file.index_lastmod,
        is_lastmod_trusted=file.lastmod_kept >= LASTMOD_TRUST_THRESHOLD,
        unasked_for=now - file.last_asked_at if file.last_asked_at else None,
        children=children,
    )


def _build_previous_robots(domain: Domain) -> PreviousRobots | None:
    state = domain.robots_state
    if not state:
        return None
    return PreviousRobots(state["body"], state.get("etag"), state.get("last_modified"))


TIME_BUDGET_SHARE = 0.9
"""Share of the stage's timeout. A scan that uses it up ends as truncated, not as failed."""


@dataclass(frozen=True)
class ScanRequest:
    """The job's parameters and the domain's previous scan."""

    text: str
    max_urls: int
    domain_id: UUID
    known: PreviousScan = field(default_factory=PreviousScan)
    read_before: frozenset[str] = frozenset()
    """Sitemaps with stored URLs, for which missing URLs are detected."""
    only_sitemap: str | None = None
    """An imported sitemap: only it and its children are read."""
    job_id: UUID | None = None
    is_first: bool = False
    """True if the domain has no stored URLs and no other active scan. A URL that this scan meets
    once is then known to be listed once.
    """


class ScanFailed(ScraperSkyError):
    """The site could not be scanned; a retry may succeed."""


def read(job: Job) -> ScanRequest:
    domain, max_pages = job.params.get("domain"), job.params.get("max_pages")
    if not isinstance(domain, str) or not domain:
        raise Rejected("The job has no domain.")
    if job.domain_id is None:
        raise Rejected(
            f"The job for {domain} has no domain_id. Request the scan with "
            "POST /api/v3/sitemap/scan, or set domain_id to the ID of the domain."
        )
    if not isinstance(max_pages, int) or isinstance(max_pages, bool) or max_pages < 1:
        raise Rejected(f"The job's max_pages is {max_pages!r}. It must be at least 1.")
    scheme, path = job.params.get("scheme"), job.params.get("path") or ""
    text = f"{scheme}://{domain}{path}" if scheme else f"{domain}{path}"
    return ScanRequest(
        text,
        max_pages,
        domain_id=job.domain_id,
        only_sitemap=job.params.get(ONLY_SITEMAP_PARAM),
        job_id=job.id,
    )


async def prepare(session: AsyncSession, request: ScanRequest) -> ScanRequest:
    files = await service.list_domain_files(session, request.domain_id)
    domain = await session.get_one(Domain, request.domain_id)
    now = (await session.scalars(select(func.now()))).one()
    return replace(
        request,
        known=build_previous_scan(domain, files, now=now),
        read_before=frozenset(file.url for file in files if file.url_count),
        is_first=await _is_first_scan(session, request),
    )


async def _is_first_scan(session: AsyncSession, request: ScanRequest) -> bool:
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


async def work(request: ScanRequest, tools: Tools) -> AsyncIterator[ScanFindings]:
    site = _parse_site(request, tools.settings)
    analyzer = SitemapAnalyzer(
        tools.fetch,
        limits=_build_limits(tools.settings),
        user_agent=tools.settings.fetch_user_agent,
        parser=tools.parser,
    )
    known = expire_lastmod_trust(
        request.known, after=timedelta(days=tools.settings.sitemap_recheck_days)
    )
    only = request.only_sitemap
    analysis = analyzer.analyze_domain_sitemaps(
        site,
        max_urls=request.max_urls,
        seeds=[only] if only else (),
        only_seeds=only is not None,
        known=known,
    )
    tally = _build_buffer(request, tools.settings)
    async with aclosing(analysis) as events, aclosing(batch_events(events, tally)) as batches:
        async for findings in batches:
            for event in findings.events:
                _raise_unreachable(event)
            yield findings


def _parse_site(request: ScanRequest, settings: Settings) -> Site:
    try:
        return parse_site(request.text, settings)
    except InvalidInput as error:
        raise Rejected(str(error)) from error


def _build_limits(settings: Settings) -> ScanLimits:
    timeout = settings.pace(STAGE.prefix, STAGE.pace).timeout_seconds
    return ScanLimits(
        max_bytes=settings.fetch_max_bytes,
        max_decompressed_bytes=settings.sitemap_max_decompressed_bytes,
        max_files=settings.sitemap_max_files_per_domain,
        max_depth=settings.sitemap_max_depth,
        max_seconds=timeout * TIME_BUDGET_SHARE,
    )


def _build_buffer(request: ScanRequest, settings: Settings) -> ScanBuffer:
    return ScanBuffer(
        settings,
        request.read_before,
        UrlBloomFilter(request.max_urls) if request.is_first else None,
        import_asked=request.only_sitemap is not None,
    )


def _raise_unreachable(event: ScanEvent | UrlRows) -> None:
    """Raise for an unreachable site: that is a failure, not a result."""
    if not isinstance(event, Analysis) or event.outcome is not ScanOutcome.UNREACHABLE:
        return
    sentence = " ".join(event.errors) or "The site does not respond."
    if event.permanent:
        raise Rejected(sentence)
    if event.retry_after is not None:
        raise RetryLater(sentence, after=timedelta(seconds=max(event.retry_after, 1)))
    raise ScanFailed(sentence)


async def store(session: AsyncSession, job: Job, findings: ScanFindings) -> None:
    job.progress, job.phase = max(job.progress, findings.progress), findings.phase
    unchanged = [event for event in findings.events if isinstance(event, SitemapUnchanged)]
    if unchanged:
        await storage.store_unchanged(session, job, unchanged)
    for event in findings.events:
        match event:
            case BaseFound():
                await storage.store_robots(session, job, event)
            case SitemapFound():
                await storage.store_file_found(session, job, event)
            case UrlRows():
                outcome.add_changes(job, await storage.store_urls(session, job, event))
            case SitemapDone():
                await _store_sitemap_done(session, job, event, findings)
            case Analysis():
                await outcome.write_result(session, job, event, rhythm=findings.rhythm)


async def _store_sitemap_done(
    session: AsyncSession, job: Job, done: SitemapDone, findings: ScanFindings
) -> None:
    await storage.store_file_result(session, job, done)
    if done.url in findings.seen:
        counts = findings.seen[done.url]
        outcome.add_changes(job, await storage.mark_gone(session, job, done.url, counts))
    is_list = done.sitemap_type is not SitemapType.INDEX
    if (
        findings.auto_import
        and is_list
        and done.status in (SitemapStatus.OK, SitemapStatus.PARTIAL)
    ):
        await queue_import(session, [await storage.get_file_id(session, job, done.url)])


STAGE = Stage(
    name=SITEMAP_STAGE,
    does="Find a site's sitemaps and store their URLs.",
    model=Job,
    status="status",
    words=JOB_STATUSES,
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
    cancelled=job_service.handle_cancelled_jobs,
    fresh={"progress": 0, "phase": None},
)


async def process_domain_with_own_session(
    job_id: UUID, domain: str, user_id: UUID | None = None, max_urls: int = 100, *, engine: Engine
) -> EventKind:
    """Process one job now, whether or not it is due. Raise `Conflict` if it cannot be claimed.

    A user may run their own jobs; the system user (or None) may run any.
    """
    runner = engine.runner(SITEMAP_STAGE)
    await _check_job(engine, job_id, domain, user_id)
    held = await runner.claim_by_id(job_id)
    if held is None:
        raise Conflict(await _describe_holder(engine, job_id))
    if isinstance(held.item, ScanRequest):
        held.item = replace(held.item, max_urls=max_urls)
    runner.free_slots -= 1
    return await runner.begin(held)


async def _check_job(engine: Engine, job_id: UUID, domain: str, user_id: UUID | None) -> None:
    system_user_id = engine.settings.scheduler_system_user_id
    key = parse_site(domain, engine.settings).key
    async with engine.database.reading() as session:
        job = await session.get(Job, job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    if user_id not in (None, system_user_id, job.created_by):
        raise NotFound(f"User {user_id} has no job {job_id}.")
    if job.params.get("domain") != key:
        raise InvalidInput(f"Job {job_id} is for {job.params.get('domain')}, not for {key}.")


async def _describe_holder(engine: Engine, job_id: UUID) -> str:
    async with engine.database.reading() as session:
        job = await session.get_one(Job, job_id)
    if job.status == JOB_STATUSES.processing:
        return f"Job {job_id} is being processed by {job.worker_id}."
    return f"Job {job_id} is {job.status}."


async def process_pending_sitemaps(limit: int | None = None, *, engine: Engine) -> RunReport | None:
    """Run the stage once: drain the queue, `limit` rows at a time."""
    runner = engine.runner(SITEMAP_STAGE)
    if limit is not None:
        runner.pace = replace(runner.pace, batch_size=limit)
    return await run_job_loop(runner)
