"""Leads as the API shows and takes them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.models import LeadCuration


class LeadOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain_id: UUID | None
    name: str | None = Field(examples=["Bäckerei Berger"])
    name_from: str | None = Field(description="Where the name stands.", examples=["json_ld"])
    category: str | None = Field(examples=["Bakery"])
    address: str | None
    phone: str | None = Field(examples=["+4930901820"])
    website: str | None = Field(examples=["https://bakery.de"])
    best_email: str | None = Field(examples=["info@bakery.de"])
    best_email_why: str | None = Field(description="Why that one, in a sentence.")
    other_emails: list[str]
    other_phones: list[str]
    profiles: list[str]
    contacts: int = Field(description="That may be written to; suppressed ones do not count.")
    rating: float | None
    reviews_count: int | None
    why_empty: str | None = Field(
        description="Why no contact is known; null when one is.", examples=["only_a_form"]
    )
    why_empty_detail: str | None
    lead_curation_status: str = Field(examples=["New"])
    created_by: UUID
    created_at: datetime
    updated_at: datetime


class LeadContact(BaseModel):
    """A contact of the lead, in short."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    kind: str
    value: str
    name: str | None
    role: str | None
    email_type: str | None
    method: str
    confidence: float
    sightings: int
    contact_curation_status: str
    suppressed: bool = Field(description="Whether nobody is to write there.")


class LeadDetail(LeadOut):
    contact_list: list[LeadContact] = Field(description="The surest first, 500 at most.")


class LeadChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lead_curation_status: LeadCuration
