"""API schemas of businesses and merge candidates."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.businesses.listing import BUSINESSES
from scrapersky.lists import RowSchema


class BusinessOut(RowSchema, columns=BUSINESSES.all_columns):
    facts_from: dict[str, str] = Field(
        description="Source of each fact.", examples=[{"phone": "google"}]
    )


class SightingOut(BaseModel):
    """One report of the business by a provider, an import or its site, with the reported facts."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    provider: str = Field(examples=["google"])
    source_key: str = Field(description="The provider's ID, or the domain of a site.")
    place_id: UUID | None
    domain_id: UUID | None
    matched_by: str = Field(description="The strongest evidence for the match.", examples=["phone"])
    score: float = Field(description="Match score (0–1).")
    why: str | None = Field(description="Evidence for the match.")
    facts: dict[str, Any]
    first_seen_at: datetime
    last_seen_at: datetime


class BusinessSearch(BaseModel):
    """A search that found one of its places."""

    search_id: UUID
    subject: str
    asked_at: datetime
    status: str
    place_id: UUID
    provider: str
    position: int
    fits: bool = Field(description="Whether the place passes the search's filters.")
    seen_at: datetime


class BusinessDomain(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain: str = Field(examples=["bakery.de"])
    status: str
    site_state: str | None
    title: str | None


class BusinessLead(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    best_email: str | None
    phone: str | None
    contacts: int
    businesses: int
    why_empty: str | None
    lead_curation_status: str


class PossibleDuplicate(BaseModel):
    """Another business that may be the same."""

    candidate_id: UUID
    business_id: UUID
    business_name: str | None
    address: str | None
    score: float
    reasons: list[str]


class BusinessDetail(BusinessOut):
    hours: dict[str, Any] | None
    sightings: list[SightingOut] = Field(description="All sightings, oldest first.")
    searches: list[BusinessSearch] = Field(description="Newest first, at most 100.")
    domain: BusinessDomain | None
    lead: BusinessLead | None
    possible_doubles: list[PossibleDuplicate]


class MergeSide(BusinessOut):
    """One business of a pair."""

    told_by: list[str] = Field(
        description="Providers that reported it.", examples=[["google", "osm"]]
    )


class MergeCandidateOut(BaseModel):
    id: UUID
    left: MergeSide
    right: MergeSide
    score: float = Field(description="Match score (0–1).")
    reasons: list[str] = Field(description="Evidence for and against the match, one sentence each.")
    state: str = Field(examples=["open"])
    decided_by: UUID | None
    decided_at: datetime | None
    created_at: datetime


class MergeIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keep: Literal["left", "right"] | None = Field(
        default=None,
        description="Which business to keep. By default a decided one wins, then the older.",
    )


class MergedOut(BaseModel):
    kept_id: UUID
    business: BusinessOut
