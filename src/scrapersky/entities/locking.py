"""Who resolves a tenant's businesses does so alone, until the transaction ends.

Candidates for "the same business" are found by several keys, and whoever makes a new one relies
on there being none. One lock per tenant is the one order that cannot deadlock with itself.
It is held for milliseconds: nothing slow ever happens in a transaction.

What else is locked comes in this order: places, this lock, businesses, domains, leads.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession


async def resolve_alone(session: AsyncSession, tenant_id: UUID) -> None:
    name = hashlib.blake2b(f"businesses of {tenant_id}".encode(), digest_size=8)
    key = cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)
    await session.execute(select(func.pg_advisory_xact_lock(key)))
