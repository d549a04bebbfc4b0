"""Read a site's home page: what the site is, whose it is, and where its contacts may stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.domains.metadata_storing import store_site
from scrapersky.errors import InvalidInput, Rejected, RetryLater
from scrapersky.harvest.reading import PageRead, read_home_page
from scrapersky.models import Domain, SiteState
from scrapersky.models.domains import METADATA_WORDS
from scrapersky.models.stage_names import METADATA_STAGE, PAGE_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.scraper.failures import HostClosed
from scrapersky.scraper.page_classes import classify, is_worth_reading
from scrapersky.scraper.page_facts import PageLink
from scrapersky.scraper.site_metadata import SiteMetadata, SiteVisit, visit_site
from scrapersky.scraper.urls import Site, normalise_site
from scrapersky.settings import Pace, Settings

MAX_LINKS = 50
"""Of those on the home page that look as if they led to contacts."""


@dataclass(frozen=True)
class SiteRead:
    """All that one look at a home page came to."""

    metadata: SiteMetadata
    home: PageRead | None
    """Nothing where the page is not the site's own, or there was none."""
    links: tuple[PageLink, ...]
    pages_per_site: int
    """How many are read by themselves; 0 where people are to select them."""


@dataclass(frozen=True)
class Done:
    """Everything is stored; what is left is the row's own end."""


def read(domain: Domain) -> str:
    return domain.domain


async def work(name: str, tools: Tools) -> AsyncIterator[SiteRead | Done]:
    """What was found is stored by itself: rows that are completed together could otherwise lock
    what they share crosswise."""
    settings = tools.settings
    try:
        visit = await visit_site(
            _site(name, settings),
            fetch=tools.fetch,
            max_retries=0,  # the queue tries again
            user_agent=settings.fetch_user_agent,
            read=partial(
                read_home_page,
                decode_obfuscated=settings.decode_obfuscated,
                parser=tools.parser,
            ),
        )
    except HostClosed as error:
        if not error.asked:
            raise
        raise RetryLater(str(error), after=timedelta(seconds=max(error.seconds_left, 1))) from error
    yield SiteRead(
        visit.metadata,
        home=_home(visit),
        links=_links(visit),
        pages_per_site=settings.pages_per_site if settings.auto_queue_pages else 0,
    )
    yield Done()


def _site(name: str, settings: Settings) -> Site:
    try:
        return normalise_site(
            name,
            allowed_networks=settings.allowed_networks,
            allowed_ports=settings.allowed_ports,
            resolve=settings.resolve,
        )
    except InvalidInput as error:
        raise Rejected(str(error)) from error


def _home(visit: SiteVisit) -> PageRead | None:
    page, facts, contacts = visit.page, visit.facts, visit.contacts
    if page is None or facts is None or contacts is None:
        return None
    return PageRead(page.url, page.final_url, page.status, facts, contacts, page.truncated)


def _links(visit: SiteVisit) -> tuple[PageLink, ...]:
    """Those of the site itself that are worth reading, the most promising first."""
    if visit.facts is None or visit.metadata.state is not SiteState.OK:
        return ()
    seen = [
        (classify(link.url, link_text=link.text, language=visit.facts.language), link)
        for link in visit.facts.links
        if link.same_site
    ]
    worth = [(kind.priority, link) for kind, link in seen if is_worth_reading(kind)]
    return tuple(_first(worth))


def _first(worth: Sequence[tuple[int, PageLink]]) -> list[PageLink]:
    return [link for _, link in sorted(worth, key=lambda each: each[0])][:MAX_LINKS]


async def store(session: AsyncSession, domain: Domain, found: SiteRead | Done) -> None:
    if isinstance(found, SiteRead):
        await store_site(
            session,
            domain,
            found.metadata,
            home=found.home,
            links=found.links,
            pages_per_site=found.pages_per_site,
        )


async def note_failure(session: AsyncSession, domain: Domain, sentence: str) -> None:
    """What is known of it stays; that it does not answer is known now."""
    domain.site_state, domain.site_state_reason = SiteState.DEAD, sentence


STAGE = Stage(
    name=METADATA_STAGE,
    does="Read a site's home page: what the site is made with, whose it is, and how it is.",
    model=Domain,
    status="status",
    words=METADATA_WORDS,
    prefix="DOMAIN_SCHEDULER",
    pace=Pace(batch_size=50, max_instances=3, concurrency=16, timeout_seconds=60),
    feeds=(SUBMISSION_STAGE, PAGE_STAGE),
    read=read,
    work=work,
    store=store,
    gave_up=note_failure,
)
