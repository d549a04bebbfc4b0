"""Parse site names as people write them and upsert their domains."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, Interval, Text, Uuid, cast, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.statements import unnest_rows
from scrapersky.errors import InvalidInput
from scrapersky.models import Actor, Domain
from scrapersky.models.domains import METADATA_NOT_QUEUED
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.urls import Site, normalise_site
from scrapersky.settings import Settings

_EMAIL = re.compile(r"(?:mailto:)?[^\s/:@]+@([^\s/:@]+\.[^\s/:@]+)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class SiteParser:
    """Parses sites as users type them; create one per list."""

    rules: AddressRules

    @classmethod
    def from_settings(cls, settings: Settings) -> SiteParser:
        return cls(AddressRules.from_settings(settings))

    def parse(self, text: str) -> Site:
        """Return the normalised site. Raises `InvalidInput` with the reason."""
        if isinstance(text, str) and (found := _EMAIL.match(text.strip())):
            # Only the user can tell whether the part after the @ is the site or a mail provider.
            given, host = text.strip()[:200], found[1][:100]
            raise InvalidInput(f"{given!r} is an e-mail address. Enter {host} if that is the site.")
        return normalise_site(text, self.rules)


def parse_site(text: str, settings: Settings) -> Site:
    return SiteParser.from_settings(settings).parse(text)


async def store_sites(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    names: Iterable[str],
    *,
    status: str = METADATA_NOT_QUEUED,
) -> dict[str, tuple[UUID, bool]]:
    """Insert missing domains and return ids by name, each with whether it is new.

    Existing domains are not changed. Rows are inserted in a fixed order, so that two concurrent
    imports wait for each other instead of deadlocking.
    """
    found: dict[str, tuple[UUID, bool]] = {}
    wanted = sorted(set(names))
    while missing := [name for name in wanted if name not in found]:
        made = await _insert_sites(session, actor, settings, missing, status)
        found |= {name: (domain_id, True) for name, domain_id in made.items()}
        # A domain deleted between the two statements is inserted in the next round.
        others = [name for name in missing if name not in made]
        found |= {
            name: (domain_id, False)
            for name, domain_id in (await _find_sites(session, actor, others)).items()
        }
    return found


async def _insert_sites(
    session: AsyncSession, actor: Actor, settings: Settings, names: list[str], status: str
) -> dict[str, UUID]:
    given = unnest_rows(id=(Uuid, [uuid7() for _ in names]), domain=(Text, names))
    values = {
        "id": given.c.id,
        "domain": given.c.domain,
        "tenant_id": literal(actor.tenant_id, Uuid),
        "created_by": literal(actor.user_id, Uuid),
        "scan_interval": literal(settings.rescan_interval, Interval),
        "status": literal(status, Text),
    }
    made = await session.execute(
        insert(Domain)
        .from_select(list(values), select(*values.values()), include_defaults=False)
        .on_conflict_do_nothing(index_elements=[Domain.tenant_id, Domain.domain])
        .returning(Domain.domain, Domain.id)
    )
    return dict(made.all())


async def _find_sites(session: AsyncSession, actor: Actor, names: list[str]) -> dict[str, UUID]:
    if not names:
        return {}
    found = await session.execute(
        select(Domain.domain, Domain.id).where(
            Domain.tenant_id == actor.tenant_id,
            Domain.domain == func.any(cast(names, ARRAY(Text))),
        )
    )
    return dict(found.all())
