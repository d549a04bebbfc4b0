"""Tenants, users and the keys programs sign in with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, Timestamps, uuid7
from scrapersky.models.ownership import OfTenant

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

    def at_most(self, other: Role) -> Role:
        """The lower one of the two."""
        return other if self.includes(other) else self


class Via(StrEnum):
    """By which door somebody came."""

    API = "api"
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
    via: Via = Via.ENGINE
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


class Tenant(Base, Timestamps):
    __tablename__ = "tenants"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    name: Mapped[str] = mapped_column(unique=True)


class User(Base, Timestamps, OfTenant):
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
    """From then on their keys and tokens open nothing."""


class ApiKey(Base, Timestamps, OfTenant):
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


def hash_key(secret: str) -> bytes:
    """A plain digest is enough: the keys are long and random, so nothing can be guessed."""
    return hashlib.sha256(secret.encode()).digest()
