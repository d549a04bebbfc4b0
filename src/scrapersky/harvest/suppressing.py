"""Whom not to write to, as conditions on contacts."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Contact, ContactKind, Domain, Suppression, SuppressionKind


def digest_of(value: str) -> bytes:
    return sha256(value.encode()).digest()


def is_suppressed(contact: Any = Contact) -> ColumnElement[bool]:
    """An address or number that is named, and everything of a domain that is: the address's own,
    one above it, or the site it was found on."""
    same_tenant = Suppression.tenant_id == contact.tenant_id
    is_email, is_phone = contact.kind == ContactKind.EMAIL, contact.kind == ContactKind.PHONE
    named = Suppression.value == contact.value
    by_value = exists().where(
        same_tenant,
        or_(
            and_(Suppression.kind == SuppressionKind.EMAIL, is_email, named),
            and_(Suppression.kind == SuppressionKind.PHONE, is_phone, named),
        ),
    )
    host = func.split_part(contact.value, "@", 2)
    of_address = and_(
        is_email, or_(host == Suppression.value, host.endswith("." + Suppression.value))
    )
    site = select(Domain.domain).where(Domain.id == contact.domain_id).scalar_subquery()
    by_domain = exists().where(
        same_tenant,
        Suppression.kind == SuppressionKind.DOMAIN,
        or_(of_address, site == Suppression.value, site.endswith("." + Suppression.value)),
    )
    return or_(by_value, by_domain)


async def erased_among(session: AsyncSession, tenant_id: UUID, values: Iterable[str]) -> set[str]:
    """Those of a person who was erased: what is not to be collected again."""
    digests = {digest_of(each): each for each in values}
    found = await session.scalars(
        select(Suppression.digest).where(
            Suppression.tenant_id == tenant_id,
            Suppression.value.is_(None),
            Suppression.digest.in_(list(digests)),
        )
    )
    return {digests[bytes(each)] for each in found}
