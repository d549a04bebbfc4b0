"""Pages that people hand in by their addresses: stored with what kind they are, and read where
that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, Text, Uuid, cast, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert

from scrapersky.db.arrays import table_of
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput
from scrapersky.harvest.kinds import KINDS, kinds_of
from scrapersky.harvest.picking import UNDECIDED
from scrapersky.http.intake import ListKind, Stored, Trade
from scrapersky.http.intake.sites import SiteReader, store_sites
from scrapersky.http.intake.taking import Asker
from scrapersky.models import PAGE_WORDS, Page, PageCuration
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.queue import follow_status
from scrapersky.pipeline.wake import wake_after_commit
from scrapersky.scraper.fetch import gate_key
from scrapersky.scraper.urls import MAX_URL_CHARACTERS, clean_url, url_digest

PAGES = ListKind(
    "page",
    (
        "page url", "page", "pages", "url", "urls", "link", "links", "loc", "address", "adresse",
        "web address", "webadresse", "landing page", "href", "seite", "seiten-url", "página",
        "pagina", "lien", "enlace", "strona", "website", "webseite", "web", "ссылка", "网址",
    ),
)  # fmt: skip

PageKey = tuple[str, bytes]
"""The domain's name and the URL's digest: the order in which imports of sitemaps store them too."""


@dataclass(frozen=True, slots=True)
class PageEntry:
    key: PageKey
    url: str

    @property
    def domain(self) -> str:
        return self.key[0]


def read(text: str, reader: SiteReader) -> PageEntry:
    site = reader.site_of(text)
    given = text.strip() if site.scheme else f"https://{text.strip().removeprefix('//')}"
    url = _spelled(urldefrag(given).url)
    if len(url) > MAX_URL_CHARACTERS:
        raise InvalidInput(f"The address is longer than {MAX_URL_CHARACTERS:,} characters.")
    return PageEntry((site.key, url_digest(url)), url)


def _spelled(text: str) -> str:
    """Scheme and host in the one way, for they are the same however written; the rest as given."""
    cleaned = clean_url(text)
    if cleaned is None:
        raise InvalidInput(f"{text[:200]!r} is not the address of a page.")
    parts = urlsplit(cleaned)
    return parts._replace(netloc=gate_key(cleaned), path=parts.path or "/").geturl()


async def store(asker: Asker, entries: Sequence[PageEntry]) -> dict[PageKey, Stored]:
    """New ones are queued or only stored; of those that are there already, the ones that were
    never read are asked for now."""
    names = {each.domain for each in entries}
    sites = await store_sites(asker.session, asker.actor, asker.settings, names)
    domains = {name: domain_id for name, (domain_id, _) in sites.items()}
    found: dict[PageKey, Stored] = {}
    while missing := [each for each in entries if each.key not in found]:
        found |= await _insert(asker, missing, domains)
        # One that is deleted between the two statements leaves room for ours in the next round.
        others = [each for each in missing if each.key not in found]
        found |= await _there_already(asker, others, domains)
    if asker.queue:
        wake_after_commit(asker.session, PAGE_STAGE)
    return found


async def _insert(
    asker: Asker, entries: Sequence[PageEntry], domains: Mapping[str, UUID]
) -> dict[PageKey, Stored]:
    keys = {uuid7(): each.key for each in entries}
    kinds = await kinds_of([each.url for each in entries], auto_queue=False)
    given = table_of(
        id=(Uuid, list(keys)),
        domain_id=(Uuid, [domains[each.domain] for each in entries]),
        url=(Text, [each.url for each in entries]),
        url_digest=(LargeBinary, [each.key[1] for each in entries]),
        **{name: (KINDS[name], values) for name, values in kinds.items()},
    )
    values: dict[str, Any] = {
        **{each.name: each for each in given.c},
        "tenant_id": literal(asker.actor.tenant_id, Uuid),
        "created_by": literal(asker.actor.user_id, Uuid),
        "page_processing_status": literal(PAGE_WORDS.queued if asker.queue else UNDECIDED, Text),
        "page_curation_status": literal(
            PageCuration.QUEUED if asker.queue else PageCuration.NEW, Text
        ),
    }
    made = await asker.session.scalars(
        insert(Page)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[Page.domain_id, Page.url_digest])
        .returning(Page.id)
    )
    return {keys[each]: Stored(each, is_new=True, queued=asker.queue) for each in made}


async def _there_already(
    asker: Asker, entries: Sequence[PageEntry], domains: Mapping[str, UUID]
) -> dict[PageKey, Stored]:
    if not entries:
        return {}
    keys = {(domains[each.domain], each.key[1]): each.key for each in entries}
    ids, digests = zip(*keys, strict=True)
    given = table_of(domain_id=(Uuid, ids), digest=(LargeBinary, digests))
    found = await asker.session.execute(
        select(Page.id, Page.domain_id, Page.url_digest).join(
            given, (Page.domain_id == given.c.domain_id) & (Page.url_digest == given.c.digest)
        )
    )
    there = {page_id: keys[domain_id, bytes(digest)] for page_id, domain_id, digest in found}
    begun = await _ask_for(asker, list(there)) if asker.queue else set()
    return {key: Stored(each, is_new=False, queued=each in begun) for each, key in there.items()}


async def _ask_for(asker: Asker, ids: Sequence[UUID]) -> set[UUID]:
    begun = await asker.session.scalars(
        update(Page)
        .where(
            Page.id == func.any(cast(ids, ARRAY(Uuid))),
            Page.page_processing_status.in_([UNDECIDED, PAGE_WORDS.skipped]),
            Page.read_at.is_(None),
        )
        .values(
            page_processing_status=PAGE_WORDS.queued,
            page_curation_status=follow_status(
                Page.page_curation_status, PAGE_WORDS, PAGE_WORDS.queued
            ),
            page_processing_due_at=func.now(),
            page_processing_attempts=0,
            page_processing_error=None,
        )
        .returning(Page.id)
        .execution_options(synchronize_session=False)
    )
    return set(begun)


HAND_IN = Trade(PAGES, read, store, "page.hand_in")
