"""Ask for the scans of many domains at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Boolean,
    Integer,
    Text,
    Uuid,
    case,
    cast,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.arrays import table_of
from scrapersky.db.base import uuid7
from scrapersky.errors import InvalidInput
from scrapersky.jobs.many import create_many
from scrapersky.models import Actor, Batch, BatchJob, Domain, JobType, record
from scrapersky.models.domains import SUBMISSION_WORDS
from scrapersky.scraper.urls import Site
from scrapersky.settings import Settings
from scrapersky.sitemaps.service import scan_job, site_of, upsert_domains

AT_ONCE = 250
"""Names read before others get a turn."""
SHOWN_CHARACTERS = 300
"""Of a line that is refused; enough to find it again."""
DEADLOCK = "40P01"
TRIES = 3


@dataclass
class Line:
    """One domain of the list and what became of it."""

    text: str
    site: Site | None = None
    error: str | None = None
    subject: str | None = None
    job_id: UUID | None = None
    already_active: bool = False

    @property
    def name(self) -> str:
        """The domain's; only of a line that is no error."""
        assert self.site is not None
        return self.site.key

    @property
    def same_as(self) -> tuple[str, str | None]:
        """Lines that have this in common ask for the same."""
        return (self.site.key, self.site.path) if self.site else (self.text, None)


@dataclass(frozen=True)
class Requested:
    """A batch as it was stored."""

    batch: Batch
    lines: Sequence[Line]
    """Each subject once, in the order given."""
    duplicates: int


async def request_batch(
    session: AsyncSession,
    actor: Actor,
    settings: Settings,
    given: Sequence[Any],
    max_pages: int | None,
) -> Requested:
    """Store the domains and a job for each, or find the jobs that are active already."""
    _refuse_length(len(given), settings)
    limit = settings.sitemap_max_urls_per_domain if max_pages is None else max_pages
    lines = await _read(given, settings)
    good = [each for each in lines if each.site is not None]
    batch = Batch(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        max_pages=limit,
        accepted=len(good),
        rejected=len(lines) - len(good),
    )
    session.add(batch)
    await session.flush()
    await _store_patiently(session, actor, settings, batch, good)
    await session.refresh(batch)
    facts = {"accepted": batch.accepted, "rejected": batch.rejected}
    record(session, actor, "batch.create", batch.id, **facts)
    return Requested(batch, lines, duplicates=len(given) - len(lines))


def _refuse_length(count: int, settings: Settings) -> None:
    if count == 0:
        raise InvalidInput("The list of domains is empty; name at least one.")
    if count > settings.batch_max_domains:
        raise InvalidInput(
            f"The list names {count:,} domains, and a batch may have "
            f"{settings.batch_max_domains:,}; send it in parts, or raise BATCH_MAX_DOMAINS."
        )


async def _read(given: Sequence[Any], settings: Settings) -> list[Line]:
    """Bad lines are kept with what is wrong with them; a line that was there before is dropped."""
    lines: dict[tuple[str, str | None], Line] = {}
    for number, text in enumerate(given, 1):
        line = _line(text, settings)
        lines.setdefault(line.same_as, line)
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return list(lines.values())


def _line(text: Any, settings: Settings) -> Line:
    shown = text if isinstance(text, str) else json.dumps(text)
    shown = shown[:SHOWN_CHARACTERS].encode("utf-8", "replace").decode()
    try:
        return Line(shown, site=site_of(text, settings))
    except InvalidInput as error:
        return Line(shown, error=str(error))


async def _store_patiently(
    session: AsyncSession, actor: Actor, settings: Settings, batch: Batch, lines: Sequence[Line]
) -> None:
    """So many rows can meet scans that end at this moment with theirs locked the other way round;
    the database then picks one of the two, and what it picked is done again."""
    for attempt in range(1, TRIES + 1):
        try:
            async with session.begin_nested():
                await _store(session, actor, settings, batch, lines)
            return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != DEADLOCK or attempt == TRIES:
                raise


async def _store(
    session: AsyncSession, actor: Actor, settings: Settings, batch: Batch, lines: Sequence[Line]
) -> None:
    if not lines:
        return
    domains = await upsert_domains(session, actor, settings, {each.name for each in lines})
    wanted = [
        scan_job(each.site, domain_id=domains[each.name], max_pages=batch.max_pages)
        for each in lines
        if each.site is not None
    ]
    jobs = await create_many(session, actor, JobType.SITEMAP, wanted, batch_id=batch.id)
    for line, new in zip(lines, wanted, strict=True):
        line.subject, (line.job_id, made) = new.subject, jobs[new.subject]
        line.already_active = not made
    made_for = {domains[each.name]: each.job_id for each in lines if not each.already_active}
    await _link(session, made_for)
    await _note_members(session, batch, lines)


async def _link(session: AsyncSession, made_for: Mapping[UUID, UUID | None]) -> None:
    """A domain whose row is locked has a scan that ends now; its new job will link itself when it
    ends, so nobody waits for it."""
    free = (
        select(Domain.id)
        .where(Domain.id == func.any(cast(list(made_for), ARRAY(Uuid))))
        .order_by(Domain.id)
        .with_for_update(skip_locked=True, key_share=True)
        .cte("free")
    )
    given = table_of(domain_id=(Uuid, list(made_for)), job_id=(Uuid, list(made_for.values())))
    in_hand = Domain.sitemap_analysis_status == SUBMISSION_WORDS.processing
    await session.execute(
        update(Domain)
        .where(Domain.id == given.c.domain_id, Domain.id == free.c.id)
        .values(
            last_sitemap_job_id=given.c.job_id,
            sitemap_analysis_status=case(
                (in_hand, Domain.sitemap_analysis_status), else_=SUBMISSION_WORDS.done
            ),
            sitemap_analysis_error=case((in_hand, Domain.sitemap_analysis_error), else_=None),
        )
        .execution_options(synchronize_session=False)
    )


async def _note_members(session: AsyncSession, batch: Batch, lines: Sequence[Line]) -> None:
    given = table_of(
        position=(Integer, range(1, len(lines) + 1)),
        domain=(Text, [each.subject for each in lines]),
        job_id=(Uuid, [each.job_id for each in lines]),
        already_active=(Boolean, [each.already_active for each in lines]),
    )
    rows = select(literal(batch.id, Uuid), *given.c)
    columns = ["batch_id", "position", "domain", "job_id", "already_active"]
    await session.execute(insert(BatchJob).from_select(columns, rows, include_defaults=False))
