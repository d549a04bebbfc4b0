"""Stage: fetch queued pages and extract their facts and contacts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.page_parser import ParsedPage, UnreadablePage, read_response
from scrapersky.contacts.store import store_page
from scrapersky.errors import Rejected, RetryLater, ScraperSkyError, Skipped
from scrapersky.models import PAGE_STATUSES, Domain, Page
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.scraper.http.fetch_errors import FetchFailed, HostClosed
from scrapersky.scraper.http.responses import Response, is_inconclusive
from scrapersky.settings import Pace

NOT_FETCHED_STATUS = 0
"""Status of a page that was not requested."""


@dataclass(frozen=True)
class PageToRead:
    id: UUID
    url: str
    domain_id: UUID
    domain: str = ""
    """Domain name, to detect redirects to another site."""


PageResult = ParsedPage | UnreadablePage


class PageReadFailed(ScraperSkyError):
    """The page could not be read; a retry may succeed."""


def read(page: Page) -> PageToRead:
    return PageToRead(page.id, page.url, page.domain_id)


async def prepare(session: AsyncSession, page: PageToRead) -> PageToRead:
    name = await session.scalar(select(Domain.domain).where(Domain.id == page.domain_id))
    if name is None:
        raise Rejected("The page's domain was deleted.")
    return replace(page, domain=name)


async def work(page: PageToRead, tools: Tools) -> AsyncIterator[PageResult]:
    """Fetch and parse the page. An unreadable page is stored, and then its row is skipped."""
    result = await _fetch_page(page, tools)
    yield result
    if isinstance(result, UnreadablePage):
        raise Skipped(result.reason)


async def _fetch_page(page: PageToRead, tools: Tools) -> PageResult:
    tools.parser.check_host(page.url)
    try:
        robots = await tools.robots.get(page.url)
        if not robots.is_known:
            raise PageReadFailed(
                "robots.txt is temporarily unavailable, so the page was not requested."
            )
        if not robots.can_fetch(page.url, tools.settings.fetch_user_agent):
            return UnreadablePage(page.url, NOT_FETCHED_STATUS, "robots.txt disallows this page.")
        answer = await tools.fetch.get(page.url, max_bytes=tools.settings.page_max_bytes)
    except HostClosed as error:
        raise _convert_host_closed(error) from error
    except FetchFailed as error:
        if error.permanent:
            raise Rejected(str(error)) from error
        raise
    _raise_for_inconclusive(answer)
    return await read_response(
        answer,
        domain=page.domain,
        decode_obfuscated=tools.settings.decode_obfuscated,
        parser=tools.parser,
    )


def _convert_host_closed(error: HostClosed) -> ScraperSkyError:
    if (
        not error.requested_by_host
    ):  # an open circuit, not a Retry-After: count the attempt, so that retries end
        return PageReadFailed(str(error))
    return RetryLater(str(error), after=timedelta(seconds=max(error.seconds_left, 1)))


def _raise_for_inconclusive(answer: Response) -> None:
    """Raise for responses that say nothing about the page, such as server errors."""
    if not is_inconclusive(answer.status) or answer.status in (401, 403):
        return
    sentence = f"HTTP {answer.status}."
    if answer.retry_after_seconds is not None:
        raise RetryLater(sentence, after=timedelta(seconds=max(answer.retry_after_seconds, 1)))
    raise PageReadFailed(sentence)


async def store(session: AsyncSession, page: Page, result: PageResult) -> None:
    await store_page(session, page, result)


STAGE = Stage(
    name=PAGE_STAGE,
    does="Read queued pages and store the contacts found on them.",
    workflow="WF7",
    model=Page,
    status="page_processing_status",
    words=PAGE_STATUSES,
    prefix="PAGE_CURATION_SCHEDULER",
    pace=Pace(batch_size=10, max_instances=1, concurrency=16, timeout_seconds=60),
    priority="priority_level",
    host="host",
    curation="page_curation_status",
    proves_hosts=True,
    aliases=("v2_page_curation_processor",),
    read=read,
    prepare=prepare,
    work=work,
    store=store,
    stores_separately=True,
)
