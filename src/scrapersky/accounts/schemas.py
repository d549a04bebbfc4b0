"""API keys as the API shows them: never the key itself, but once."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.models import Role


class ApiKeyIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200, examples=["nightly export"])
    role: Role = Role.VIEWER


class ApiKeyOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    role: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewApiKey(ApiKeyOut):
    key: str = Field(description="Shown this once; keep it.")
