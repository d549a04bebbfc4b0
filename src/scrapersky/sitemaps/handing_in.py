"""Sitemaps that people hand in by their address: fetched first, then imported like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urldefrag
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput
from scrapersky.jobs.many import create_many
from scrapersky.jobs.service import NewJob
from scrapersky.models import Actor, JobType, record
from scrapersky.scraper.urls import Site
from scrapersky.settings import Settings
from scrapersky.sitemaps.names import ONLY_SITEMAP
from scrapersky.sitemaps.service import scan_job, site_of, upsert_domains

MOST_AT_ONCE = 1_000


@dataclass(frozen=True)
class HandedIn:
    """What became of one line."""

    input: str
    job_id: UUID | None = None
    already_active: bool = False
    error: str | None = None


async def hand_in(
    session: AsyncSession, actor: Actor, settings: Settings, urls: Sequence[str]
) -> list[HandedIn]:
    """A job for each sitemap; a line that is none does not keep the others from being taken."""
    lines = {text: _read(text, settings) for text in dict.fromkeys(each.strip() for each in urls)}
    sites = {text: line for text, line in lines.items() if isinstance(line, Site)}
    domains = await upsert_domains(session, actor, settings, {each.key for each in sites.values()})
    wanted = {text: _job(text, site, domains[site.key], settings) for text, site in sites.items()}
    made = await create_many(session, actor, JobType.SITEMAP, list(wanted.values()))
    record(session, actor, "sitemap_file.hand_in", None, taken=len(wanted), lines=len(lines))
    refused = {text: line for text, line in lines.items() if isinstance(line, str)}
    return [
        HandedIn(text, error=refused[text])
        if text in refused
        else _taken(text, *made[wanted[text].subject])
        for text in lines
    ]


def _taken(text: str, job_id: UUID, is_new: bool) -> HandedIn:
    return HandedIn(text, job_id, already_active=not is_new)


def _read(text: str, settings: Settings) -> Site | str:
    """The site it is of, or why it is not taken."""
    try:
        site = site_of(text, settings)
    except InvalidInput as error:
        return str(error)
    if site.path == "/":
        return "This is a site, not a sitemap: give the sitemap's whole address."
    return site


def _job(text: str, site: Site, domain_id: UUID, settings: Settings) -> NewJob:
    scan = scan_job(site, domain_id=domain_id, max_pages=settings.sitemap_max_urls_per_domain)
    # As it was typed, for `www.` may make the difference; the site above has one spelling.
    address = urldefrag(text if site.scheme else f"https://{text}").url
    return replace(
        scan, subject=f"sitemap {address}", params={**scan.params, ONLY_SITEMAP: address}
    )
