"""Request and response bodies for API keys, users, tenants, sessions and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from scrapersky.models import Role

Password = Annotated[SecretStr, Field(max_length=1_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class ApiKeyIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name = Field(examples=["nightly export"])
    role: Role = Field(default=Role.VIEWER, description="At most that of its user.")
    user_id: UUID | None = Field(default=None, description="Whose it is; left out: yours.")
    expires_at: datetime | None = Field(default=None, description="Left out: never.")


class RotationIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    grace_seconds: int = Field(
        default=0, ge=0, le=30 * 86400, description="For so long the old secret stays good."
    )


class ApiKeyOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    user_id: UUID
    name: str
    role: str
    prefix: str | None = Field(description="How the key begins.", examples=["sky_4fGh2kLm"])
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute or so.")
    previous_until: datetime | None = Field(
        description="The secret before the last rotation is good until then."
    )
    revoked_at: datetime | None


class NewApiKey(ApiKeyOut):
    key: str = Field(description="Shown this once; keep it.")


class UserIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name = Field(examples=["alice"])
    role: Role = Role.VIEWER


class RoleIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role


class PasswordIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: Password = Field(
        description="At least 12 characters.", examples=["a few words of your own"]
    )


class UserOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    issuer: str | None = Field(description="Who vouches for somebody who came by token.")
    role: str
    created_at: datetime
    deactivated_at: datetime | None
    has_password: bool = Field(description="Whether they can sign in to the dashboard with one.")


class TenantOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    created_at: datetime


class AuditEntryOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: int
    at: datetime
    actor_id: UUID = Field(description="The user who did it.")
    api_key_id: UUID | None
    request_id: str | None = Field(description="As in the answer's X-Request-ID.")
    via: str = Field(examples=["api"])
    action: str = Field(examples=["job.cancel"])
    subject_kind: str = Field(examples=["job"])
    subject_id: str | None
    details: dict[str, Any]


class SignInIn(BaseModel):
    """A name and a password, or an API key; neither where a key or token is in the headers."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = Field(default=None, description="With `password`.", examples=["alice"])
    password: Password | None = None
    tenant: str | None = Field(
        default=None, max_length=200, description="Its name or id; left out: the default one."
    )
    api_key: SecretStr | None = Field(
        default=None, max_length=8192, description="An API key or a token."
    )


class PasswordChangeIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    current: Password
    new: Password = Field(
        description="At least 12 characters.", examples=["a few words of your own"]
    )


class WhoOut(BaseModel):
    id: UUID
    name: str
    tenant_id: UUID


class SessionOut(BaseModel):
    """Who asks, and until when they may go on asking so."""

    user: WhoOut
    role: Role
    csrf_token: str | None = Field(
        description="To be sent as `X-CSRF-Token` with whatever changes something. Nothing for "
        "those who come without a session."
    )
    expires_at: datetime | None = Field(description="Unless it is used before.")


class OwnSessionOut(BaseModel):
    id: UUID
    client: str = Field(description="What the browser said it is.")
    created_at: datetime
    last_seen_at: datetime = Field(description="To the minute or so.")
    expires_at: datetime = Field(description="Unless it is used before.")
    is_current: bool = Field(description="Whether it is the one that asks.")


class EndedOut(BaseModel):
    ended: int = Field(description="So many sessions.")
