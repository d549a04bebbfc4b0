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
"""Created by the migrations, together with the scheduler's system user. Its users operate the
installation: they see and change what concerns all tenants.
"""

KEY_PREFIX = "sky_"
"""Makes leaked keys easy to recognise."""


class Role(StrEnum):
    """Permission levels, lowest first. Each includes the ones before it."""

    VIEWER = "viewer"
    CURATOR = "curator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)

    def cap(self, other: Role) -> Role:
        """Return the lower of the two roles."""
        return other if self.includes(other) else self


class RequestChannel(StrEnum):
    """How a request reached the application."""

    API = "api"
    DASHBOARD = "dashboard"
    CLI = "cli"
    ENGINE = "engine"


@dataclass(frozen=True)
class Actor:
    """The user on whose behalf something is done, and how they authenticated."""

    user_id: UUID
    tenant_id: UUID
    role: Role = Role.ADMIN
    key_id: UUID | None = None
    """None if the request carried no API key."""
    session_id: UUID | None = None
    """None outside of dashboard sessions."""
    via: RequestChannel = RequestChannel.ENGINE
    request_id: str | None = None

    @property
    def id(self) -> str:
        """Stable across requests, and different for each API key of a user."""
        return f"key:{self.key_id}" if self.key_id else f"user:{self.user_id}"

    @property
    def is_operator(self) -> bool:
        """Whether the actor may manage what concerns all tenants."""
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
        # Local users share one namespace. Users from tokens have one per issuer.
        UniqueConstraint("tenant_id", "issuer", "name", postgresql_nulls_not_distinct=True),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str]
    """For users from tokens: the token's subject."""
    issuer: Mapped[str | None]
    """The token issuer that vouches for the user; null for local users."""
    role: Mapped[str]
    deactivated_at: Mapped[datetime | None]
    """From this time on, the user's keys, tokens and sessions are rejected."""
    password_hash: Mapped[str | None]
    """Includes salt and parameters. Null if the user cannot sign in with a password."""

    @property
    def has_password(self) -> bool:
        return self.password_hash is not None


class ApiKey(Base, TimestampMixin, TenantMixin):
    """An API key. Only its hash is stored; the key itself is shown once."""

    __tablename__ = "api_keys"
    __table_args__ = (CheckConstraint(ROLE_CHECK, name="role"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    role: Mapped[str]
    """Upper bound: a key never has more rights than its user."""
    prefix: Mapped[str | None]
    """The first characters of the key, to identify it; null for keys older than this column."""
    key_hash: Mapped[bytes] = mapped_column(unique=True)
    previous_hash: Mapped[bytes | None] = mapped_column(unique=True)
    """Hash of the secret before the last rotation, valid until `previous_until`."""
    previous_until: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    """Accurate to about a minute, to avoid a write per request."""
    revoked_at: Mapped[datetime | None]


class UserSession(Base, TenantMixin):
    """A dashboard session. Only the hash of the session token is stored."""

    __tablename__ = "sessions"
    __table_args__ = (
        CheckConstraint(ROLE_CHECK, name="role"),
        Index("ix_sessions_user_id", "user_id"),
        Index("ix_sessions_expires_at", "expires_at"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    api_key_id: Mapped[UUID | None] = mapped_column(ForeignKey("api_keys.id"))
    """The API key that the session was started with. Revoking it ends the session."""
    role: Mapped[str]
    """Upper bound: the role of the key or token that the session was started with."""
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    client: Mapped[str]
    """The browser's User-Agent, so that people can recognise their sessions."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """Accurate to about a minute. An idle session ends long before `expires_at`."""
    expires_at: Mapped[datetime]
    """Absolute limit, regardless of activity."""
    ended_at: Mapped[datetime | None]


def hash_key(secret: str) -> bytes:
    """Return the digest of a key or session token.

    A plain digest is enough, because both are long and random and cannot be guessed.
    """
    return hashlib.sha256(secret.encode()).digest()


class SignInBucket(Base):
    """A leaky bucket of failed sign-ins per source, name, pair of both, or device."""

    __tablename__ = "sign_in_buckets"
    __table_args__ = (Index("ix_sign_in_buckets_updated_at", "updated_at"),)

    key: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """A digest, because people type passwords into the name field and those must never be stored.
    """
    level: Mapped[float] = mapped_column(Float)
    """Level as of `updated_at`; it has drained since."""
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class SignInDevice(Base, TenantMixin):
    """A browser in which a user signed in with a password. Its attempts have a separate bucket."""

    __tablename__ = "sign_in_devices"
    __table_args__ = (
        Index("ix_sign_in_devices_user_id", "user_id", "last_used_at"),
        Index("ix_sign_in_devices_last_used_at", "last_used_at"),
    )

    token_hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_used_at: Mapped[datetime] = mapped_column(server_default=func.now())
