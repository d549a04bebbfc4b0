"""Get a page, and import pages by URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, Text, Uuid, cast, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import InvalidInput, NotFound
from scrapersky.lists.imports import Importer, ImportSubject, StoredEntry
from scrapersky.lists.imports.rows import ImportContext
from scrapersky.lists.imports.sites import SiteParser, store_sites
from scrapersky.models import PAGE_STATUSES, Actor, Page, PageCuration
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pages.classification import CLASSIFICATION_COLUMNS, classify_urls
from scrapersky.pages.selection import UNDECIDED
from scrapersky.pipeline.queue import follow_status
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.http.fetch import get_gate_key
from scrapersky.scraper.http.urls import MAX_URL_CHARACTERS, clean_url, url_digest

PAGE_IMPORT_KIND = ImportSubject(
    "page",
    (
        "page url", "page", "pages", "url", "urls", "link", "links", "loc", "address", "adresse",
        "web address", "webadresse", "landing page", "href", "seite", "seiten-url", "página",
        "pagina", "lien", "enlace", "strona", "website", "webseite", "web", "ссылка", "网址",
    ),
)  # fmt: skip

PageKey = tuple[str, bytes]
"""Domain name and URL digest. Sitemap imports store pages in the same order, which avoids
deadlocks.
"""


@dataclass(frozen=True, slots=True)
class PageEntry:
    key: PageKey
    url: str

    @property
    def domain(self) -> str:
        return self.key[0]


def parse_page_entry(text: str, reader: SiteParser) -> PageEntry:
    site = reader.parse(text)
    absolute = text.strip() if site.scheme else f"https://{text.strip().removeprefix('//')}"
    url = _normalise_url(urldefrag(absolute).url)
    if len(url) > MAX_URL_CHARACTERS:
        raise InvalidInput(f"The URL is longer than {MAX_URL_CHARACTERS:,} characters.")
    return PageEntry((site.key, url_digest(url)), url)


def _normalise_url(text: str) -> str:
    """Normalise scheme and host, which are case-insensitive. Keep the rest as given."""
    cleaned = clean_url(text)
    if cleaned is None:
        raise InvalidInput(f"{text[:200]!r} is not a page URL.")
    parts = urlsplit(cleaned)
    return parts._replace(netloc=get_gate_key(cleaned), path=parts.path or "/").geturl()


async def store_page_entries(
    import_context: ImportContext, entries: Sequence[PageEntry]
) -> dict[PageKey, StoredEntry]:
    """Insert new pages and queue existing ones that were never read."""
    names = {each.domain for each in entries}
    sites = await store_sites(
        import_context.session, import_context.actor, import_context.settings, names
    )
    domains = {name: domain_id for name, (domain_id, _) in sites.items()}
    stored: dict[PageKey, StoredEntry] = {}
    while missing := [each for each in entries if each.key not in stored]:
        stored |= await _insert_pages(import_context, missing, domains)
        # A page deleted between the two statements is inserted in the next round.
        others = [each for each in missing if each.key not in stored]
        stored |= await _find_existing(import_context, others, domains)
    if import_context.queue:
        wake_after_commit(import_context.session, PAGE_STAGE)
    return stored


async def _insert_pages(
    import_context: ImportContext, entries: Sequence[PageEntry], domains: Mapping[str, UUID]
) -> dict[PageKey, StoredEntry]:
    keys = {uuid7(): each.key for each in entries}
    kinds = await classify_urls([each.url for each in entries], auto_queue=False)
    input_rows = unnest_rows(
        id=(Uuid, list(keys)),
        domain_id=(Uuid, [domains[each.domain] for each in entries]),
        url=(Text, [each.url for each in entries]),
        url_digest=(LargeBinary, [each.key[1] for each in entries]),
        **{name: (CLASSIFICATION_COLUMNS[name], values) for name, values in kinds.items()},
    )
    values: dict[str, Any] = {
        **{each.name: each for each in input_rows.c},
        "tenant_id": literal(import_context.actor.tenant_id, Uuid),
        "created_by": literal(import_context.actor.user_id, Uuid),
        "page_processing_status": literal(
            PAGE_STATUSES.queued if import_context.queue else UNDECIDED, Text
        ),
        "page_curation_status": literal(
            PageCuration.QUEUED if import_context.queue else PageCuration.NEW, Text
        ),
    }
    inserted = await import_context.session.scalars(
        insert(Page)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[Page.domain_id, Page.url_digest])
        .returning(Page.id)
    )
    return {
        keys[each]: StoredEntry(each, is_new=True, queued=import_context.queue) for each in inserted
    }


async def _find_existing(
    import_context: ImportContext, entries: Sequence[PageEntry], domains: Mapping[str, UUID]
) -> dict[PageKey, StoredEntry]:
    if not entries:
        return {}
    keys = {(domains[each.domain], each.key[1]): each.key for each in entries}
    ids, digests = zip(*keys, strict=True)
    input_rows = unnest_rows(domain_id=(Uuid, ids), digest=(LargeBinary, digests))
    result = await import_context.session.execute(
        select(Page.id, Page.domain_id, Page.url_digest).join(
            input_rows,
            (Page.domain_id == input_rows.c.domain_id) & (Page.url_digest == input_rows.c.digest),
        )
    )
    there = {page_id: keys[domain_id, bytes(digest)] for page_id, domain_id, digest in result}
    queued = await _queue_unread(import_context, list(there)) if import_context.queue else set()
    return {
        key: StoredEntry(each, is_new=False, queued=each in queued) for each, key in there.items()
    }


async def _queue_unread(import_context: ImportContext, ids: Sequence[UUID]) -> set[UUID]:
    queued = await import_context.session.scalars(
        update(Page)
        .where(
            Page.id == func.any(cast(ids, ARRAY(Uuid))),
            Page.page_processing_status.in_([UNDECIDED, PAGE_STATUSES.skipped]),
            Page.read_at.is_(None),
        )
        .values(
            page_processing_status=PAGE_STATUSES.queued,
            page_curation_status=follow_status(
                Page.page_curation_status, PAGE_STATUSES, PAGE_STATUSES.queued
            ),
            page_processing_due_at=func.now(),
            page_processing_attempts=0,
            page_processing_error=None,
        )
        .returning(Page.id)
        .execution_options(synchronize_session=False)
    )
    return set(queued)


PAGE_IMPORT = Importer(PAGE_IMPORT_KIND, parse_page_entry, store_page_entries, "page.hand_in")


async def get_page(session: AsyncSession, actor: Actor, page_id: UUID) -> Page:
    page = await session.scalar(
        select(Page).where(Page.id == page_id, Page.tenant_id == actor.tenant_id)
    )
    if page is None:
        raise NotFound(f"There is no page {page_id}.")
    return page
