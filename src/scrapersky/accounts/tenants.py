"""Tenants: made by whoever runs the installation, and never seen by each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.names import name_of, uuid_in
from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.models import Actor, Tenant, record


async def create_tenant(session: AsyncSession, actor: Actor, name: str) -> Tenant:
    name = name_of("A tenant", name)
    if uuid_in(name) is not None:
        raise InvalidInput("A tenant's name cannot look like an id, for it may stand for one.")
    made: Tenant | None = await session.scalar(
        insert(Tenant)
        .values(id=uuid7(), name=name)
        .on_conflict_do_nothing(index_elements=[Tenant.name])
        .returning(Tenant)
    )
    if made is None:
        raise Conflict(f"There is a tenant {name} already.")
    record(session, actor, "tenant.create", made.id, name=name)
    return made


async def list_tenants(session: AsyncSession) -> Sequence[Tenant]:
    return (await session.scalars(select(Tenant).order_by(Tenant.created_at, Tenant.id))).all()


async def acting_in(session: AsyncSession, actor: Actor, tenant: str | None) -> Actor:
    """The same person, acting in a tenant given by name or id; nothing means their own."""
    if tenant is None:
        return actor
    given = uuid_in(tenant)
    wanted = Tenant.name == tenant if given is None else Tenant.id == given
    tenant_id = await session.scalar(select(Tenant.id).where(wanted))
    if tenant_id is None:
        raise NotFound(f"There is no tenant {tenant}.")
    return replace(actor, tenant_id=tenant_id)
