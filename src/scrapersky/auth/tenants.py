"""Create and find tenants; validate names and ids of tenants, users and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.errors import Conflict, InvalidInput, NotFound
from scrapersky.models import Actor, Tenant, record

MAX_NAME_CHARACTERS = 200


def validate_name(thing: str, text: str) -> str:
    """Return the trimmed name. Raises `InvalidInput` if it is empty, too long or not printable."""
    name = text.strip()
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise InvalidInput(
            f"{thing} needs a name of 1 to {MAX_NAME_CHARACTERS} printable characters."
        )
    return name


def parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def create_tenant(session: AsyncSession, actor: Actor, name: str) -> Tenant:
    name = validate_name("A tenant", name)
    if parse_uuid(name) is not None:
        raise InvalidInput(
            "A tenant's name cannot be a UUID, because tenants can be given by name or id."
        )
    tenant: Tenant | None = await session.scalar(
        insert(Tenant)
        .values(id=uuid7(), name=name)
        .on_conflict_do_nothing(index_elements=[Tenant.name])
        .returning(Tenant)
    )
    if tenant is None:
        raise Conflict(f"A tenant named {name} already exists.")
    record(session, actor, "tenant.create", tenant.id, name=name)
    return tenant


async def list_tenants(session: AsyncSession) -> Sequence[Tenant]:
    return (await session.scalars(select(Tenant).order_by(Tenant.created_at, Tenant.id))).all()


async def switch_tenant(session: AsyncSession, actor: Actor, tenant: str | None) -> Actor:
    """Return the actor in another tenant, given by name or id; None keeps their own."""
    if tenant is None:
        return actor
    parsed_id = parse_uuid(tenant)
    condition = Tenant.name == tenant if parsed_id is None else Tenant.id == parsed_id
    tenant_id = await session.scalar(select(Tenant.id).where(condition))
    if tenant_id is None:
        raise NotFound(f"There is no tenant {tenant}.")
    return replace(actor, tenant_id=tenant_id)
