"""Tenants, users and the keys programs sign in with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7

DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""Made by the migrations, with the scheduler's system user in it."""


class Role(StrEnum):
    """What somebody may do; each includes those before it."""

    VIEWER = "viewer"
    CURATOR = "curator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True)
class Actor:
    """On whose behalf something is done."""

    user_id: UUID
    tenant_id: UUID
    role: Role = Role.ADMIN


ROLE_CHECK = "role IN ('viewer', 'curator', 'admin')"


class Tenant(Base, Timestamps):
    __tablename__ = "tenants"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str] = mapped_column(unique=True)


class User(Base, Timestamps):
    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint(ROLE_CHECK, name="role"),
        UniqueConstraint("tenant_id", "name"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[str]
    role: Mapped[str]


class ApiKey(Base, Timestamps):
    """Only the hash of a key is kept; the key itself is shown once."""

    __tablename__ = "api_keys"
    __table_args__ = (CheckConstraint(ROLE_CHECK, name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"))
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    role: Mapped[str]
    key_hash: Mapped[bytes] = mapped_column(unique=True)
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
