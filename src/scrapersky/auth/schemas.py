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
    role: Role = Field(
        default=Role.VIEWER, description="Role of the key; not higher than its user's."
    )
    user_id: UUID | None = Field(default=None, description="Owner of the key. Default: you.")
    expires_at: datetime | None = Field(default=None, description="Default: the key never expires.")


class RotationIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    grace_seconds: int = Field(
        default=0,
        ge=0,
        le=30 * 86400,
        description="Seconds for which the previous secret stays valid.",
    )


class ApiKeyOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    user_id: UUID
    name: str
    role: str
    prefix: str | None = Field(
        description="First characters of the secret.", examples=["sky_4fGh2kLm"]
    )
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Last use, accurate to about a minute.")
    previous_until: datetime | None = Field(
        description="The previous secret is valid until this time."
    )
    revoked_at: datetime | None


class NewApiKey(ApiKeyOut):
    key: str = Field(description="The secret. It is shown only once.")


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
    issuer: str | None = Field(description="Token issuer of a user who signs in by token.")
    role: str
    created_at: datetime
    deactivated_at: datetime | None
    has_password: bool = Field(
        description="Whether the user can sign in to the dashboard with a password."
    )


class TenantOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    created_at: datetime


class AuditEntryOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: int
    at: datetime
    actor_id: UUID = Field(description="User who performed the action.")
    api_key_id: UUID | None
    request_id: str | None = Field(
        description="Request id, as in the `X-Request-ID` response header."
    )
    via: str = Field(examples=["api"])
    action: str = Field(examples=["job.cancel"])
    subject_kind: str = Field(examples=["job"])
    subject_id: str | None
    details: dict[str, Any]


class SignInIn(BaseModel):
    """A name and password, or an API key; omit both if a key or token is in the headers."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = Field(default=None, description="With `password`.", examples=["alice"])
    password: Password | None = None
    tenant: str | None = Field(
        default=None, max_length=200, description="Tenant name or id. Default: the default tenant."
    )
    api_key: SecretStr | None = Field(
        default=None, max_length=8192, description="An API key or token."
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
    """The authenticated user and the expiry of the session."""

    user: WhoOut
    role: Role
    csrf_token: str | None = Field(
        description="Send it as `X-CSRF-Token` with every request that changes something. Null "
        "without a session."
    )
    expires_at: datetime | None = Field(description="Expiry if the session is not used before.")


class OwnSessionOut(BaseModel):
    id: UUID
    client: str = Field(description="User agent of the browser.")
    created_at: datetime
    last_seen_at: datetime = Field(description="Last use, accurate to about a minute.")
    expires_at: datetime = Field(description="Expiry if the session is not used before.")
    is_current: bool = Field(description="Whether this is the session of the request.")


class EndedOut(BaseModel):
    ended: int = Field(description="Number of ended sessions.")
