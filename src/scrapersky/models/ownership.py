"""Mixins for rows that belong to a tenant and a user."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.session import SYSTEM_USER_KEY


class TenantMixin:
    """A row that belongs to one tenant. Sessions of other tenants do not see it."""

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"))


class OwnedMixin(TenantMixin):
    created_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    """The person whose request stored the row. Rows stored by stages and chores carry the system
    user (decision 0023).
    """


def get_system_user_id(session: AsyncSession) -> UUID:
    """Return SCHEDULER_SYSTEM_USER_ID, the `created_by` of rows that no person requested."""
    user_id: UUID = session.info[SYSTEM_USER_KEY]
    return user_id
