"""Bulk actions as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class BulkActionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    kind: str = Field(examples=["contact"])
    to_status: str = Field(examples=["Selected"])
    details: dict[str, Any] = Field(description="The filter or the number of ids, and the note.")
    updated_count: int
    queued_count: int
    created_by: UUID
    created_at: datetime
    undone_at: datetime | None


class UndoIn(BaseModel):
    """Which action; your last one that is not undone when left out."""

    model_config = ConfigDict(extra="forbid")

    action_id: UUID | None = None
