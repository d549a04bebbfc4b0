"""Signing in and out as the API shows it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from scrapersky.accounts.schemas import Name, Password
from scrapersky.models import Role


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
