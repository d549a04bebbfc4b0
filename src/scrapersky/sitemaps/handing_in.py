"""Sitemaps that people hand in by their address: fetched first, then imported like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urldefrag
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import InvalidInput
from scrapersky.jobs import service as job_service
from scrapersky.models import Actor, record
from scrapersky.settings import Settings
from scrapersky.sitemaps.names import ONLY_SITEMAP
from scrapersky.sitemaps.service import scan_job, site_of, upsert_domain

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
    results = []
    for text in dict.fromkeys(each.strip() for each in urls):
        try:
            results.append(await _hand_in(session, actor, settings, text))
        except InvalidInput as error:
            results.append(HandedIn(text, error=str(error)))
    taken = sum(each.error is None for each in results)
    record(session, actor, "sitemap_file.hand_in", None, taken=taken, lines=len(results))
    return results


async def _hand_in(session: AsyncSession, actor: Actor, settings: Settings, text: str) -> HandedIn:
    site = site_of(text, settings)
    if site.path == "/":
        raise InvalidInput("This is a site, not a sitemap: give the sitemap's whole address.")
    domain_id = await upsert_domain(session, actor, site, rescan_interval=settings.rescan_interval)
    scan = scan_job(site, domain_id=domain_id, max_pages=settings.sitemap_max_urls_per_domain)
    # As it was typed, for `www.` may make the difference; the site above has one spelling.
    address = urldefrag(text if site.scheme else f"https://{text}").url
    wanted = replace(
        scan, subject=f"sitemap {address}", params={**scan.params, ONLY_SITEMAP: address}
    )
    job, created = await job_service.create(session, actor, wanted)
    return HandedIn(text, job_id=job.id, already_active=not created)
