"""Sitemaps that people hand in by their address: fetched first, then imported like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urldefrag
from uuid import UUID

from sqlalchemy import LargeBinary, Text, Uuid, literal, select
from sqlalchemy.dialects.postgresql import insert

from scrapersky.db.arrays import table_of
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput
from scrapersky.http.intake import ListKind, Stored, Trade
from scrapersky.http.intake.sites import SiteReader, store_sites
from scrapersky.http.intake.taking import Asker
from scrapersky.jobs.many import create_many
from scrapersky.jobs.service import NewJob
from scrapersky.models import JobType, SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Method
from scrapersky.scraper.urls import Site, clean_url, url_digest
from scrapersky.settings import Settings
from scrapersky.sitemaps.names import ONLY_SITEMAP
from scrapersky.sitemaps.service import scan_job

SITEMAPS = ListKind(
    "sitemap",
    (
        "sitemap", "sitemaps", "sitemap url", "sitemap urls", "xml sitemap", "sitemap file",
        "sitemap location", "loc", "plan du site", "mapa del sitio", "url", "urls", "link",
        "links", "address", "adresse",
    ),
)  # fmt: skip

FileKey = tuple[str, bytes]
"""The domain's name and the address's digest."""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    key: FileKey
    site: Site
    address: str
    """As it was typed, for `www.` may make the difference; the site has one spelling."""


def read(text: str, reader: SiteReader) -> SitemapEntry:
    site = reader.site_of(text)
    if site.path == "/":
        raise InvalidInput("This is a site, not a sitemap: give the sitemap's whole address.")
    typed = text.strip() if site.scheme else f"https://{text.strip().removeprefix('//')}"
    address = clean_url(urldefrag(typed).url)
    if address is None:
        raise InvalidInput(f"{text[:200]!r} is not the address of a sitemap.")
    return SitemapEntry((site.key, url_digest(address)), site, address)


async def store(asker: Asker, entries: Sequence[SitemapEntry]) -> dict[FileKey, Stored]:
    """A row for each, and a job that reads it where that is asked for; one that is there already
    is read again. The rest of its site is not looked at."""
    names = {each.site.key for each in entries}
    sites = await store_sites(asker.session, asker.actor, asker.settings, names)
    domains = {name: domain_id for name, (domain_id, _) in sites.items()}
    found = await _files(asker, entries, domains)
    if not asker.queue:
        return {key: Stored(file_id, is_new) for key, (file_id, is_new) in found.items()}
    wanted = {each.key: _job(each, domains[each.site.key], asker.settings) for each in entries}
    jobs = list(wanted.values())
    made = await create_many(asker.session, asker.actor, JobType.SITEMAP, jobs)
    return {
        each.key: _stored(*found[each.key], *made[wanted[each.key].subject]) for each in entries
    }


def _stored(file_id: UUID, is_new: bool, job_id: UUID, job_is_new: bool) -> Stored:
    return Stored(file_id, is_new, queued=job_is_new, job_id=job_id, already_active=not job_is_new)


def _job(entry: SitemapEntry, domain_id: UUID, settings: Settings) -> NewJob:
    limit = settings.sitemap_max_urls_per_domain
    scan = scan_job(entry.site, domain_id=domain_id, max_pages=limit)
    return replace(
        scan,
        subject=f"sitemap {entry.address}",
        params={**scan.params, ONLY_SITEMAP: entry.address},
    )


async def _files(
    asker: Asker, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, tuple[UUID, bool]]:
    """Each with whether it was made now."""
    found: dict[FileKey, tuple[UUID, bool]] = {}
    while missing := [each for each in entries if each.key not in found]:
        made = await _insert(asker, missing, domains)
        found |= {key: (file_id, True) for key, file_id in made.items()}
        # One that is deleted between the two statements leaves room for ours in the next round.
        others = [each for each in missing if each.key not in made]
        there = await _there_already(asker, others, domains)
        found |= {key: (file_id, False) for key, file_id in there.items()}
    return found


async def _insert(
    asker: Asker, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, UUID]:
    keys = {uuid7(): each.key for each in entries}
    given = table_of(
        id=(Uuid, list(keys)),
        domain_id=(Uuid, [domains[each.site.key] for each in entries]),
        url=(Text, [each.address for each in entries]),
        url_digest=(LargeBinary, [each.key[1] for each in entries]),
    )
    values: dict[str, Any] = {
        **{each.name: each for each in given.c},
        "tenant_id": literal(asker.actor.tenant_id, Uuid),
        "created_by": literal(asker.actor.user_id, Uuid),
        "discovery_method": literal(Method.MANUAL.value, Text),
        "status": literal(FileStatus.UNREAD.value, Text),
    }
    made = await asker.session.scalars(
        insert(SitemapFile)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[SitemapFile.domain_id, SitemapFile.url_digest])
        .returning(SitemapFile.id)
    )
    return {keys[each]: each for each in made}


async def _there_already(
    asker: Asker, entries: Sequence[SitemapEntry], domains: dict[str, UUID]
) -> dict[FileKey, UUID]:
    if not entries:
        return {}
    keys = {(domains[each.site.key], each.key[1]): each.key for each in entries}
    ids, digests = zip(*keys, strict=True)
    given = table_of(domain_id=(Uuid, ids), digest=(LargeBinary, digests))
    same = (SitemapFile.domain_id == given.c.domain_id) & (SitemapFile.url_digest == given.c.digest)
    found = await asker.session.execute(
        select(SitemapFile.id, SitemapFile.domain_id, SitemapFile.url_digest).join(given, same)
    )
    return {keys[domain_id, bytes(digest)]: file_id for file_id, domain_id, digest in found}


HAND_IN = Trade(SITEMAPS, read, store, "sitemap_file.hand_in")
