"""Take an address or a number out of whatever a tenant's rows say, in any of its spellings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Text, cast, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.harvest.spellings import Wording
from scrapersky.models import (
    ApiKey,
    IdempotencyKey,
    Page,
    SitemapFile,
    SitemapUrl,
    Tenant,
    User,
)

NOT_SCRUBBED: tuple[type[Base], ...] = (Tenant, User, ApiKey)
"""Accounts are no contacts, although somebody may be called like one."""
KEPT_COLUMNS = frozenset({"url", "value", "kind", "id"})
"""What a row is known by: URLs are a site's own words, and other contacts are other people's."""


async def scrub(session: AsyncSession, tenant_id: UUID, wording: Wording) -> dict[str, set[Any]]:
    """Of every table with rows of the tenant: the first key of those that said it."""
    changed = {
        model.__tablename__: await _scrub_table(session, model, tenant_id, wording)
        for model in _tables()
    }
    changed[SitemapUrl.__tablename__] = await _scrub_table(
        session, SitemapUrl, tenant_id, wording, _is_listed_for(tenant_id)
    )
    return {name: keys for name, keys in changed.items() if keys}


def _tables() -> Iterator[Any]:
    """Those that are not there yet are found by themselves."""
    for mapper in sorted(Base.registry.mappers, key=lambda each: each.class_.__name__):
        model = mapper.class_
        if hasattr(model, "tenant_id") and model not in NOT_SCRUBBED and any(_columns(model)):
            yield model


def _columns(model: Any) -> Iterator[Any]:
    for column in model.__table__.columns:
        listed = isinstance(column.type, ARRAY) and isinstance(column.type.item_type, Text)
        said = isinstance(column.type, Text | JSONB) or listed
        if said and column.name not in KEPT_COLUMNS and not column.primary_key:
            yield getattr(model, column.key)


def _as_text(column: Any) -> Any:
    if isinstance(column.type, ARRAY):
        return func.array_to_string(column, " ")
    return cast(column, Text) if isinstance(column.type, JSONB) else column


def _is_listed_for(tenant_id: UUID) -> ColumnElement[bool]:
    """URLs of sitemaps come by the million and have no tenant of their own."""
    files = select(SitemapFile.id).where(SitemapFile.tenant_id == tenant_id)
    return SitemapUrl.sitemap_id.in_(files)


async def count_in_urls(session: AsyncSession, tenant_id: UUID, wording: Wording) -> int:
    """URLs of pages, of sitemaps and in sitemaps that hold it; each is counted once."""
    found: set[str] = set()
    for model, mine in (
        (Page, Page.tenant_id == tenant_id),
        (SitemapFile, SitemapFile.tenant_id == tenant_id),
        (SitemapUrl, _is_listed_for(tenant_id)),
    ):
        urls = await session.scalars(select(model.url).where(mine, wording.stands_in(model.url)))
        found |= {each for each in urls if wording.is_in(each)}
    return len(found)


async def _scrub_table(
    session: AsyncSession,
    model: Any,
    tenant_id: UUID,
    wording: Wording,
    mine: ColumnElement[bool] | None = None,
) -> set[Any]:
    columns = list(_columns(model))
    keys = [getattr(model, each.name) for each in model.__table__.primary_key]
    found = await session.execute(
        select(*keys, *columns).where(
            model.tenant_id == tenant_id if mine is None else mine,
            or_(*(wording.stands_in(_as_text(each)) for each in columns)),
        )
    )
    changed: set[Any] = set()
    for row in found.all():
        own, said = row[: len(keys)], row[len(keys) :]
        if better := _changes(columns, said, wording):
            same = [key == value for key, value in zip(keys, own, strict=True)]
            statement = update(model).where(*same).values(**better)
            await session.execute(statement.execution_options(synchronize_session=False))
            changed.add(own[0])
    return changed


def _changes(columns: Sequence[Any], said: Sequence[Any], wording: Wording) -> dict[str, Any]:
    both = (
        (each.key, value, wording.out_of(value)) for each, value in zip(columns, said, strict=True)
    )
    return {name: after for name, before, after in both if after != before}


async def forget_answers(session: AsyncSession, tenant_id: UUID, wording: Wording) -> int:
    """Answers kept to be repeated are not repeated if they say it."""
    body: Any = func.encode(IdempotencyKey.body, "escape")
    forgotten = await session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.tenant_id == tenant_id, wording.stands_in(body))
        .values(body=None)
        .execution_options(synchronize_session=False)
    )
    return int(getattr(forgotten, "rowcount", 0))
