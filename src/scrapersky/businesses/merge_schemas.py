"""Pairs that may be one business, as the API shows and takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.businesses.schemas import BusinessOut


class Side(BusinessOut):
    """One of the two."""

    told_by: list[str] = Field(description="Who told us of it.", examples=[["google", "osm"]])


class MergeCandidateOut(BaseModel):
    id: UUID
    left: Side
    right: Side
    score: float = Field(description="How sure it is that they are one: 0 to 1.")
    reasons: list[str] = Field(description="What speaks for it and against it, in sentences.")
    state: str = Field(examples=["open"])
    decided_by: UUID | None
    decided_at: datetime | None
    created_at: datetime


class MergeIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keep: Literal["left", "right"] | None = Field(
        default=None,
        description="Which of the two stays. Left out, it is the one that was decided about, or "
        "else the older.",
    )


class MergedOut(BaseModel):
    kept_id: UUID
    business: BusinessOut
