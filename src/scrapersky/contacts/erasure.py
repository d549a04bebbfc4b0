"""Erase a person: delete contacts, redact every stored text and keep only a keyed digest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Text, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.erasure_filter import get_erasure_lock
from scrapersky.contacts.value_patterns import (
    ValuePattern,
    build_email_pattern,
    build_phone_pattern,
)
from scrapersky.contacts.values import parse_suppressed_value
from scrapersky.db.base import Base, uuid7
from scrapersky.db.erasure_key import ErasureKey, claim_key
from scrapersky.db.outages import get_sqlstate
from scrapersky.errors import Conflict, InvalidInput
from scrapersky.leads.build import lock_lead, refresh_business_leads, refresh_leads
from scrapersky.models import (
    Actor,
    ApiKey,
    Contact,
    ContactEvidence,
    ContactKind,
    Domain,
    IdempotencyKey,
    LocalBusiness,
    Page,
    SitemapFile,
    SitemapUrl,
    Suppression,
    SuppressionKind,
    Tenant,
    User,
    record,
)
from scrapersky.models.suppression import compute_digest

UNSCRUBBED_MODELS: tuple[type[Base], ...] = (Tenant, User, ApiKey)
"""Account tables. A user may share a name with an erased person."""
KEPT_COLUMNS = frozenset({"url", "value", "kind", "id"})
"""Columns that identify a row. URLs belong to the site, and other values to other people."""


async def scrub(
    session: AsyncSession, tenant_id: UUID, wording: ValuePattern
) -> dict[str, set[Any]]:
    """Redact the value in every table of the tenant. Return the first key of each changed row by
    table.
    """
    changed = {
        model.__tablename__: await _scrub_table(session, model, tenant_id, wording)
        for model in _list_models()
    }
    changed[SitemapUrl.__tablename__] = await _scrub_table(
        session, SitemapUrl, tenant_id, wording, _belongs_to_tenant(tenant_id)
    )
    return {name: keys for name, keys in changed.items() if keys}


def _list_models() -> Iterator[Any]:
    """Yield every tenant model with text columns, so that new tables are covered automatically."""
    for mapper in sorted(Base.registry.mappers, key=lambda each: each.class_.__name__):
        model = mapper.class_
        if (
            hasattr(model, "tenant_id")
            and model not in UNSCRUBBED_MODELS
            and any(_list_text_columns(model))
        ):
            yield model


def _list_text_columns(model: Any) -> Iterator[Any]:
    for column in model.__table__.columns:
        listed = isinstance(column.type, ARRAY) and isinstance(column.type.item_type, Text)
        is_searched = isinstance(column.type, Text | JSONB) or listed
        if is_searched and column.name not in KEPT_COLUMNS and not column.primary_key:
            yield getattr(model, column.key)


def _cast_to_text(column: Any) -> Any:
    if isinstance(column.type, ARRAY):
        return func.array_to_string(column, " ")
    return cast(column, Text) if isinstance(column.type, JSONB) else column


def _belongs_to_tenant(tenant_id: UUID) -> ColumnElement[bool]:
    """Match sitemap URLs through their file: there are millions, so they carry no tenant."""
    files = select(SitemapFile.id).where(SitemapFile.tenant_id == tenant_id)
    return SitemapUrl.sitemap_id.in_(files)


async def count_in_urls(session: AsyncSession, tenant_id: UUID, wording: ValuePattern) -> int:
    """Count the distinct URLs of pages, sitemaps and sitemap entries that contain the value."""
    matching: set[str] = set()
    for model, mine in (
        (Page, Page.tenant_id == tenant_id),
        (SitemapFile, SitemapFile.tenant_id == tenant_id),
        (SitemapUrl, _belongs_to_tenant(tenant_id)),
    ):
        urls = await session.scalars(
            select(model.url).where(mine, wording.build_condition(model.url))
        )
        matching |= {each for each in urls if wording.matches(each)}
    return len(matching)


async def _scrub_table(
    session: AsyncSession,
    model: Any,
    tenant_id: UUID,
    wording: ValuePattern,
    mine: ColumnElement[bool] | None = None,
) -> set[Any]:
    columns = list(_list_text_columns(model))
    keys = [getattr(model, each.name) for each in model.__table__.primary_key]
    result = await session.execute(
        select(*keys, *columns).where(
            model.tenant_id == tenant_id if mine is None else mine,
            or_(*(wording.build_condition(_cast_to_text(each)) for each in columns)),
        )
    )
    changed: set[Any] = set()
    for row in result.all():
        own, values = row[: len(keys)], row[len(keys) :]
        if better := _compute_changes(columns, values, wording):
            same = [key == value for key, value in zip(keys, own, strict=True)]
            statement = update(model).where(*same).values(**better)
            await session.execute(statement.execution_options(synchronize_session=False))
            changed.add(own[0])
    return changed


def _compute_changes(
    columns: Sequence[Any], values: Sequence[Any], wording: ValuePattern
) -> dict[str, Any]:
    both = (
        (each.key, value, wording.redact(value))
        for each, value in zip(columns, values, strict=True)
    )
    return {name: after for name, before, after in both if after != before}


async def clear_stored_responses(
    session: AsyncSession, tenant_id: UUID, wording: ValuePattern
) -> int:
    """Clear stored idempotent responses that contain the value, so that they are not replayed."""
    body: Any = func.encode(IdempotencyKey.body, "escape")
    forgotten = await session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.tenant_id == tenant_id, wording.build_condition(body))
        .values(body=None)
        .execution_options(synchronize_session=False)
    )
    return int(getattr(forgotten, "rowcount", 0))


LOCK_TIMEOUT_MS = 500
"""Below PostgreSQL's `deadlock_timeout`. A worker that stores a page holds its row and waits for
our advisory lock, while we may wait for that row. We time out and retry, so that the worker is
never the deadlock victim.
"""
MAX_ATTEMPTS = 40
LOCK_CONFLICT_SQLSTATES = ("55P03", "40P01")
"""lock_not_available and deadlock_detected."""


@dataclass(frozen=True)
class ErasureResult:
    """Counts of what was removed. It never contains the value itself."""

    kind: SuppressionKind
    contacts: int
    evidence: int
    suppression_id: UUID
    places: dict[str, int] = field(default_factory=dict)
    left_in_urls: int = 0
    same_name: list[UUID] = field(default_factory=list)


async def erase(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, text: str
) -> ErasureResult:
    if kind is SuppressionKind.DOMAIN:
        raise InvalidInput("Erase a person by e-mail address or phone number, not by domain.")
    value = parse_suppressed_value(kind, text)
    for _ in range(MAX_ATTEMPTS):
        try:
            async with session.begin_nested():
                return await _erase(session, actor, kind, value)
        except DBAPIError as error:
            if get_sqlstate(error) not in LOCK_CONFLICT_SQLSTATES:
                raise
    raise Conflict("The affected rows are locked by running work. Retry in a minute.")


async def _erase(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str
) -> ErasureResult:
    await _set_lock_timeout(session, LOCK_TIMEOUT_MS)
    # Blocks every store of the tenant until this commits. Stores after that redact the value.
    await session.execute(select(func.pg_advisory_xact_lock(get_erasure_lock(actor.tenant_id))))
    key = await claim_key(session)
    suppression_id = await _store_digest(session, actor, kind, value, key)
    wording, contacts = await _find_contacts(session, actor, kind, value)
    domain_ids = await _lock_leads(session, [each.domain_id for each in contacts])
    for each in contacts:
        await _store_digest(session, actor, kind, each.value, key)
    evidence = await _count_evidence(session, contacts)
    same_name = await _find_same_name(session, contacts)
    await session.execute(delete(Contact).where(Contact.id.in_([each.id for each in contacts])))
    scrubbed = await scrub(session, actor.tenant_id, wording)
    places = {name: len(keys) for name, keys in scrubbed.items()}
    if answers := await clear_stored_responses(session, actor.tenant_id, wording):
        places[IdempotencyKey.__tablename__] = answers
    await refresh_leads(session, domain_ids | scrubbed.get(Domain.__tablename__, set()))
    told_of = scrubbed.get(LocalBusiness.__tablename__, set())
    await refresh_business_leads(session, told_of)
    erased = ErasureResult(
        kind=kind,
        contacts=len(contacts),
        evidence=evidence,
        suppression_id=suppression_id,
        places=places,
        left_in_urls=await count_in_urls(session, actor.tenant_id, wording),
        same_name=same_name,
    )
    details = {"kind": kind.value, "contacts": erased.contacts, "evidence": evidence}
    record(session, actor, "contact.erase", suppression_id, **details, places=places)
    await _set_lock_timeout(session, 0)
    return erased


async def _set_lock_timeout(session: AsyncSession, milliseconds: int) -> None:
    """Set the lock timeout for the rest of the transaction. 0 disables it."""
    await session.execute(select(func.set_config("lock_timeout", str(milliseconds), True)))


async def _store_digest(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str, key: ErasureKey
) -> UUID:
    """Upsert the keyed digest. A suppression that already exists loses its plain value and plain
    digest.
    """
    keyed = {"digest": key.get_digest(value), "key_id": key.fingerprint}
    there = (Suppression.tenant_id == actor.tenant_id, Suppression.kind == kind.value)
    plain = await session.scalar(
        select(Suppression.id).where(*there, Suppression.digest == compute_digest(value))
    )
    erased = select(Suppression.id).where(*there, Suppression.digest == keyed["digest"])
    if plain is not None and await session.scalar(erased) is None:
        await session.execute(
            update(Suppression)
            .where(Suppression.id == plain)
            .values(value=None, reason=None, **keyed)
            .execution_options(synchronize_session=False)
        )
    elif plain is not None:
        await session.execute(delete(Suppression).where(Suppression.id == plain))
    statement = insert(Suppression).values(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        kind=kind.value,
        **keyed,
    )
    kept: UUID | None = await session.scalar(
        statement.on_conflict_do_update(
            index_elements=[Suppression.tenant_id, Suppression.kind, Suppression.digest],
            set_={"value": None, "reason": None},
        ).returning(Suppression.id)
    )
    assert kept is not None
    return kept


async def _find_contacts(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str
) -> tuple[ValuePattern, Sequence[Contact]]:
    """Return the pattern of all spellings, and the contacts: exact matches and profiles that
    contain only the number.
    """
    mine = select(Contact).where(Contact.tenant_id == actor.tenant_id)
    named = mine.where(Contact.kind == kind.value, Contact.value == value)
    contacts = list(await session.scalars(named))
    worded = build_email_pattern if kind is SuppressionKind.EMAIL else build_phone_pattern
    wording = worded(value, await _load_raw_spellings(session, contacts))
    profiles = mine.where(
        Contact.kind == ContactKind.SOCIAL, wording.build_condition(Contact.value)
    )
    also = [each for each in await session.scalars(profiles) if wording.matches(each.value)]
    return wording, [*contacts, *also]


async def _load_raw_spellings(session: AsyncSession, contacts: Sequence[Contact]) -> set[str]:
    ids = [each.id for each in contacts]
    statement = select(ContactEvidence.raw).where(ContactEvidence.contact_id.in_(ids))
    raws = {each.raw for each in contacts} | set(await session.scalars(statement))
    return {each for each in raws if each}


async def _lock_leads(session: AsyncSession, domain_ids: Sequence[UUID]) -> set[UUID]:
    """Lock the leads, which serialises stores per domain: no page adds the value meanwhile."""
    ids = sorted(set(domain_ids))
    domains = await session.scalars(select(Domain).where(Domain.id.in_(ids)).order_by(Domain.id))
    for each in domains.all():
        await lock_lead(session, each)
    return set(ids)


async def _count_evidence(session: AsyncSession, contacts: Sequence[Contact]) -> int:
    ids = [each.id for each in contacts]
    counting = select(func.count()).where(ContactEvidence.contact_id.in_(ids))
    return await session.scalar(counting) or 0


async def _find_same_name(session: AsyncSession, contacts: Sequence[Contact]) -> list[UUID]:
    names = {(each.domain_id, each.name) for each in contacts if each.name}
    erased = [each.id for each in contacts]
    if not names:
        return []
    rows = await session.scalars(
        select(Contact.id)
        .where(
            or_(*((Contact.domain_id == site) & (Contact.name == name) for site, name in names)),
            Contact.id.not_in(erased),
        )
        .order_by(Contact.id)
    )
    return list(rows)
