"""Whose a row is and who made it: every row knows both."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column


class OfTenant:
    """A row that belongs to one tenant; the sessions of other tenants do not see it."""

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"))


class Owned(OfTenant):
    created_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
