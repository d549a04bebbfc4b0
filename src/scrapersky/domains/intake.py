"""Domains that people hand in: stored, and read where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, cast, func, update

from scrapersky.http.intake import ListKind, Stored, Trade
from scrapersky.http.intake.sites import SiteReader, store_sites
from scrapersky.http.intake.taking import Asker
from scrapersky.models import Domain
from scrapersky.models.domains import METADATA_WORDS, NOT_ASKED
from scrapersky.models.stage_names import METADATA_STAGE
from scrapersky.pipeline.wake import wake_after_commit

DOMAINS = ListKind(
    "domain",
    (
        "domain", "domains", "domain name", "website", "websites", "website url", "webseite",
        "internetadresse", "internetseite", "homepage", "web", "web address", "webadresse",
        "web site", "site web", "sitio web", "página web", "sito web", "sito", "webbplats",
        "hemsida", "strona www", "company website", "company domain", "root domain", "host",
        "hostname", "www", "site", "site url", "url", "urls", "link", "links", "internet", "сайт",
        "网站", "网址", "ホームページ",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DomainEntry:
    key: str
    """The name in its one spelling."""


def read(text: str, reader: SiteReader) -> DomainEntry:
    return DomainEntry(reader.site_of(text).key)


async def store(asker: Asker, entries: Sequence[DomainEntry]) -> dict[str, Stored]:
    """New ones wait to be read, or are only stored; of those that are there already, the ones
    that were only stored are asked for now."""
    status = METADATA_WORDS.queued if asker.queue else NOT_ASKED
    names = [each.key for each in entries]
    found = await store_sites(asker.session, asker.actor, asker.settings, names, status=status)
    there = [domain_id for domain_id, is_new in found.values() if not is_new]
    begun = await _ask_for(asker, there) if asker.queue and there else set()
    if asker.queue:
        wake_after_commit(asker.session, METADATA_STAGE)
    return {
        name: Stored(domain_id, is_new, queued=asker.queue and (is_new or domain_id in begun))
        for name, (domain_id, is_new) in found.items()
    }


async def _ask_for(asker: Asker, ids: Sequence[UUID]) -> set[UUID]:
    begun = await asker.session.scalars(
        update(Domain)
        .where(Domain.id == func.any(cast(ids, ARRAY(Uuid))), Domain.status == NOT_ASKED)
        .values(status=METADATA_WORDS.queued, due_at=func.now(), attempts=0, error=None)
        .returning(Domain.id)
        .execution_options(synchronize_session=False)
    )
    return set(begun)


HAND_IN = Trade(DOMAINS, read, store, "domain.hand_in")
