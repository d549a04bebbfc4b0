"""Erase a person: whatever a tenant has of an address or a number, for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.contacts.scrubbing import count_in_urls, forget_answers, scrub
from scrapersky.contacts.values import suppressed_value
from scrapersky.db.away import sqlstate_of
from scrapersky.db.base import uuid7
from scrapersky.db.erasure_key import ErasureKey, claim_key
from scrapersky.errors import Conflict, InvalidInput
from scrapersky.harvest.erasure_filter import get_erasure_lock
from scrapersky.harvest.leads import hold_lead, refresh_leads, refresh_leads_of_businesses
from scrapersky.harvest.spellings import Wording, email_wording, phone_wording
from scrapersky.harvest.suppressing import digest_of
from scrapersky.models import (
    Actor,
    Contact,
    ContactEvidence,
    ContactKind,
    Domain,
    IdempotencyKey,
    LocalBusiness,
    Suppression,
    SuppressionKind,
    record,
)

LOCK_TIMEOUT_MS = 500
"""Less than PostgreSQL's deadlock_timeout. Whoever stores a page holds its row and waits for us,
while we may wait for that row: we give way, and those who store are never the victims."""
ATTEMPTS = 40
GIVE_WAY = ("55P03", "40P01")
"""lock_not_available and deadlock_detected."""


@dataclass(frozen=True)
class Erased:
    """What was removed; the value itself stands in it nowhere."""

    kind: SuppressionKind
    contacts: int
    evidence: int
    suppression_id: UUID
    places: dict[str, int] = field(default_factory=dict)
    left_in_urls: int = 0
    same_name: list[UUID] = field(default_factory=list)


async def erase(session: AsyncSession, actor: Actor, kind: SuppressionKind, text: str) -> Erased:
    if kind is SuppressionKind.DOMAIN:
        raise InvalidInput("A person is erased by an e-mail address or a phone number.")
    value = suppressed_value(kind, text)
    for _ in range(ATTEMPTS):
        try:
            async with session.begin_nested():
                return await _erase(session, actor, kind, value)
        except DBAPIError as error:
            if sqlstate_of(error) not in GIVE_WAY:
                raise
    raise Conflict("What holds it is being changed all the time. Try again in a minute.")


async def _erase(session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str) -> Erased:
    await _set_lock_timeout(session, LOCK_TIMEOUT_MS)
    # Nobody stores what was read for the tenant until this is done, and then without the value.
    await session.execute(select(func.pg_advisory_xact_lock(get_erasure_lock(actor.tenant_id))))
    key = await claim_key(session)
    suppression_id = await _keep_digest(session, actor, kind, value, key)
    wording, contacts = await _found(session, actor, kind, value)
    domain_ids = await _hold(session, [each.domain_id for each in contacts])
    for each in contacts:
        await _keep_digest(session, actor, kind, each.value, key)
    evidence = await _count_evidence(session, contacts)
    same_name = await _of_same_name(session, contacts)
    await session.execute(delete(Contact).where(Contact.id.in_([each.id for each in contacts])))
    scrubbed = await scrub(session, actor.tenant_id, wording)
    places = {name: len(keys) for name, keys in scrubbed.items()}
    if answers := await forget_answers(session, actor.tenant_id, wording):
        places[IdempotencyKey.__tablename__] = answers
    await refresh_leads(session, domain_ids | scrubbed.get(Domain.__tablename__, set()))
    told_of = scrubbed.get(LocalBusiness.__tablename__, set())
    await refresh_leads_of_businesses(session, told_of)
    erased = Erased(
        kind=kind,
        contacts=len(contacts),
        evidence=evidence,
        suppression_id=suppression_id,
        places=places,
        left_in_urls=await count_in_urls(session, actor.tenant_id, wording),
        same_name=same_name,
    )
    said = {"kind": kind.value, "contacts": erased.contacts, "evidence": evidence}
    record(session, actor, "contact.erase", suppression_id, **said, places=places)
    await _set_lock_timeout(session, 0)
    return erased


async def _set_lock_timeout(session: AsyncSession, milliseconds: int) -> None:
    """Until the transaction ends, or until it is set again."""
    await session.execute(select(func.set_config("lock_timeout", str(milliseconds), True)))


async def _keep_digest(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str, key: ErasureKey
) -> UUID:
    """One that was suppressed before loses its value too, and its plain digest."""
    keyed = {"digest": key.get_digest(value), "key_id": key.fingerprint}
    there = (Suppression.tenant_id == actor.tenant_id, Suppression.kind == kind.value)
    plain = await session.scalar(
        select(Suppression.id).where(*there, Suppression.digest == digest_of(value))
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
    adding = insert(Suppression).values(
        id=uuid7(),
        tenant_id=actor.tenant_id,
        created_by=actor.user_id,
        kind=kind.value,
        **keyed,
    )
    kept: UUID | None = await session.scalar(
        adding.on_conflict_do_update(
            index_elements=[Suppression.tenant_id, Suppression.kind, Suppression.digest],
            set_={"value": None, "reason": None},
        ).returning(Suppression.id)
    )
    assert kept is not None
    return kept


async def _found(
    session: AsyncSession, actor: Actor, kind: SuppressionKind, value: str
) -> tuple[Wording, Sequence[Contact]]:
    """Its contacts, and profiles that are nothing but the number; and how pages wrote it."""
    mine = select(Contact).where(Contact.tenant_id == actor.tenant_id)
    named = mine.where(Contact.kind == kind.value, Contact.value == value)
    contacts = list(await session.scalars(named))
    worded = email_wording if kind is SuppressionKind.EMAIL else phone_wording
    wording = worded(value, await _raws(session, contacts))
    profiles = mine.where(Contact.kind == ContactKind.SOCIAL, wording.stands_in(Contact.value))
    also = [each for each in await session.scalars(profiles) if wording.is_in(each.value)]
    return wording, [*contacts, *also]


async def _raws(session: AsyncSession, contacts: Sequence[Contact]) -> set[str]:
    ids = [each.id for each in contacts]
    seen = select(ContactEvidence.raw).where(ContactEvidence.contact_id.in_(ids))
    raws = {each.raw for each in contacts} | set(await session.scalars(seen))
    return {each for each in raws if each}


async def _hold(session: AsyncSession, domain_ids: Sequence[UUID]) -> set[UUID]:
    """Everything of a domain is stored one after the other: nobody finds it again meanwhile."""
    ids = sorted(set(domain_ids))
    domains = await session.scalars(select(Domain).where(Domain.id.in_(ids)).order_by(Domain.id))
    for each in domains.all():
        await hold_lead(session, each)
    return set(ids)


async def _count_evidence(session: AsyncSession, contacts: Sequence[Contact]) -> int:
    ids = [each.id for each in contacts]
    counting = select(func.count()).where(ContactEvidence.contact_id.in_(ids))
    return await session.scalar(counting) or 0


async def _of_same_name(session: AsyncSession, contacts: Sequence[Contact]) -> list[UUID]:
    names = {(each.domain_id, each.name) for each in contacts if each.name}
    erased = [each.id for each in contacts]
    if not names:
        return []
    found = await session.scalars(
        select(Contact.id)
        .where(
            or_(*((Contact.domain_id == site) & (Contact.name == name) for site, name in names)),
            Contact.id.not_in(erased),
        )
        .order_by(Contact.id)
    )
    return list(found)
