"""Tenants, users, API keys, sessions, and failed sign-in attempts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    UniqueConstraint,
    func,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import TenantMixin

DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""Made by the migrations, with the scheduler's system user in it. Its people run the installation:
what concerns all tenants together is theirs."""

KEY_PREFIX = "sky_"
"""Makes a key easy to recognise where it should not be."""


class Role(StrEnum):
    """What somebody may do; each includes those before it."""

    VIEWER = "viewer"
    CURATOR = "curator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)

    def cap(self, other: Role) -> Role:
        """The lower one of the two."""
        return other if self.includes(other) else self


class RequestChannel(StrEnum):
    """By which door somebody came."""

    API = "api"
    DASHBOARD = "dashboard"
    CLI = "cli"
    ENGINE = "engine"


@dataclass(frozen=True)
class Actor:
    """On whose behalf something is done, and how it was asked for."""

    user_id: UUID
    tenant_id: UUID
    role: Role = Role.ADMIN
    key_id: UUID | None = None
    """Nothing for those who came without an API key."""
    session_id: UUID | None = None
    """Nothing for those who did not sign in to the dashboard."""
    via: RequestChannel = RequestChannel.ENGINE
    request_id: str | None = None

    @property
    def id(self) -> str:
        """Stays the same over requests, and differs between the keys of one user."""
        return f"key:{self.key_id}" if self.key_id else f"user:{self.user_id}"

    @property
    def is_operator(self) -> bool:
        """Whether what concerns all tenants together is this one's business."""
        return self.tenant_id == DEFAULT_TENANT_ID


ROLE_CHECK = "role IN ('viewer', 'curator', 'admin')"


class Tenant(Base, TimestampMixin):
    __tablename__ = "tenants"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str] = mapped_column(unique=True)


class User(Base, TimestampMixin, TenantMixin):
    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint(ROLE_CHECK, name="role"),
        # Those made here share one namespace, those who came by token have one per issuer.
        UniqueConstraint("tenant_id", "issuer", "name", postgresql_nulls_not_distinct=True),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str]
    """Of somebody who came by token: the token's subject."""
    issuer: Mapped[str | None]
    """Who vouches for somebody who came by token; nothing for those made here."""
    role: Mapped[str]
    deactivated_at: Mapped[datetime | None]
    """From then on their keys, tokens and sessions open nothing."""
    password_hash: Mapped[str | None]
    """With all that is needed to try a password; nothing for those who cannot sign in with one."""

    @property
    def has_password(self) -> bool:
        return self.password_hash is not None


class ApiKey(Base, TimestampMixin, TenantMixin):
    """Only the hash of a key is kept; the key itself is shown once."""

    __tablename__ = "api_keys"
    __table_args__ = (CheckConstraint(ROLE_CHECK, name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    role: Mapped[str]
    """At most: a key never reaches further than its user."""
    prefix: Mapped[str | None]
    """How the key begins, to know it by; nothing for keys older than this column."""
    key_hash: Mapped[bytes] = mapped_column(unique=True)
    previous_hash: Mapped[bytes | None] = mapped_column(unique=True)
    """Of the secret before the last rotation, good until `previous_until`."""
    previous_until: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    """To the minute or so: not every request is worth a write."""
    revoked_at: Mapped[datetime | None]


class UserSession(Base, TenantMixin):
    """Somebody signed in to the dashboard. Only the hash of what their browser shows is kept."""

    __tablename__ = "sessions"
    __table_args__ = (
        CheckConstraint(ROLE_CHECK, name="role"),
        Index("ix_sessions_user_id", "user_id"),
        Index("ix_sessions_expires_at", "expires_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    api_key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"))
    """The key it was begun with, and ends with."""
    role: Mapped[str]
    """At most: that of the key or token it was begun with."""
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    client: Mapped[str]
    """What the browser says it is, for people to know their sessions by."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """To the minute or so; without a sign of life it ends long before it expires."""
    expires_at: Mapped[datetime]
    """However much it is used."""
    ended_at: Mapped[datetime | None]


def hash_key(secret: str) -> bytes:
    """A plain digest is enough: keys and session tokens are long and random, beyond guessing."""
    return hashlib.sha256(secret.encode()).digest()


class SignInBucket(Base):
    """A leaky bucket of failed sign-ins of one source, name, pair of both, or device."""

    __tablename__ = "sign_in_buckets"
    __table_args__ = (Index("ix_sign_in_buckets_updated_at", "updated_at"),)

    key: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """A digest: people type passwords into the field for the name, and it is kept nowhere."""
    level: Mapped[float] = mapped_column(Float)
    """As of `updated_at`; it drains from then on."""
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SignInDevice(Base, TenantMixin):
    """A browser in which a user signed in with a password: its attempts are counted apart."""

    __tablename__ = "sign_in_devices"
    __table_args__ = (
        Index("ix_sign_in_devices_user_id", "user_id", "last_used_at"),
        Index("ix_sign_in_devices_last_used_at", "last_used_at"),
    )

    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_used_at: Mapped[datetime] = mapped_column(server_default=func.now())
