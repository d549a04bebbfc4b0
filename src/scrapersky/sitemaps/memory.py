"""What earlier scans left of a domain, as the scraper takes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from scrapersky.models import Domain, SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Method, SitemapType
from scrapersky.scraper.known import Known, KnownRobots, KnownSitemap
from scrapersky.sitemaps.storing import TRUSTED_FROM


def remembered(domain: Domain, files: Sequence[SitemapFile], *, now: datetime) -> Known:
    """Only what was read to its end and is still named: the rest is read anew."""
    current = [file for file in files if file.gone_at is None]
    children: defaultdict[str, list[tuple[str, datetime | None]]] = defaultdict(list)
    for file in current:
        if file.parent_url is not None:
            children[file.parent_url].append((file.url, file.index_lastmod))
    return Known(
        sitemaps={
            file.url: _known(file, tuple(children[file.url]), now)
            for file in current
            if _is_whole(file, len(children[file.url]))
        },
        robots=_robots(domain),
        from_home_page=tuple(
            file.url for file in current if file.discovery_method == Method.HTML_LINK
        ),
    )


def _is_whole(file: SitemapFile, children: int) -> bool:
    """Read to its end; and of an index, every child it names was stored: a scan that was killed
    may have read the index and not yet come to all of them."""
    if file.status != FileStatus.OK or file.content_hash is None:
        return False
    return file.sitemap_type != SitemapType.INDEX or children == file.url_count


def with_doubts(known: Known, *, after: timedelta) -> Known:
    """What was left out on its index's word for so long is asked for itself this time: only so is
    an index found out that gives old dates to new content."""
    return replace(
        known,
        sitemaps={
            url: replace(each, is_lastmod_trusted=False) if _is_doubtful(each, after) else each
            for url, each in known.sitemaps.items()
        },
    )


def _is_doubtful(known: KnownSitemap, after: timedelta) -> bool:
    return known.unasked_for is None or known.unasked_for >= after


def _known(
    file: SitemapFile, children: tuple[tuple[str, datetime | None], ...], now: datetime
) -> KnownSitemap:
    return KnownSitemap(
        url=file.url,
        sitemap_type=SitemapType(file.sitemap_type) if file.sitemap_type else None,
        url_count=file.url_count,
        etag=file.etag,
        last_modified=file.last_modified,
        content_hash=file.content_hash,
        index_lastmod=file.index_lastmod,
        is_lastmod_trusted=file.lastmod_kept >= TRUSTED_FROM,
        unasked_for=now - file.last_asked_at if file.last_asked_at else None,
        children=children,
    )


def _robots(domain: Domain) -> KnownRobots | None:
    state = domain.robots_state
    if not state:
        return None
    return KnownRobots(state["body"], state.get("etag"), state.get("last_modified"))
