"""API schemas of leads."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.leads.lineage import LineageStep, SiteLineage
from scrapersky.models import LeadCuration


class LeadOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain_id: UUID | None = Field(description="Null where the business has no site of its own.")
    local_business_id: UUID | None = Field(
        description="The business it is about; of several that share the site, the most reviewed."
    )
    businesses: int = Field(description="How many share the site: the branches of a chain.")
    name: str | None = Field(examples=["Bäckerei Berger"])
    name_from: str | None = Field(description="Where the name stands.", examples=["json_ld"])
    category: str | None = Field(examples=["Bakery"])
    address: str | None
    phone: str | None = Field(examples=["+4930901820"])
    phone_from: str | None = Field(
        description="Who says so: `site`, or the provider that told of the place.",
        examples=["google"],
    )
    website: str | None = Field(examples=["https://bakery.de"])
    best_email: str | None = Field(examples=["info@bakery.de"])
    best_email_why: str | None = Field(description="Why that one, in a sentence.")
    other_emails: list[str]
    other_phones: list[str]
    profiles: list[str]
    contacts: int = Field(
        description="On its pages, that may be written to; suppressed ones do not count."
    )
    rating: float | None
    reviews_count: int | None
    why_empty: str | None = Field(
        description="Why no page of it has a contact; null when one has. A phone or an address "
        "that a provider told of may be known all the same.",
        examples=["only_a_form"],
    )
    why_empty_detail: str | None
    lead_curation_status: str = Field(examples=["New"])
    completed_at: datetime | None = Field(
        description="When everything that was to be read for it had been read."
    )
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


class LeadStep(LineageStep):
    name: str | None


class LeadLineage(SiteLineage):
    """From the lead back to who looked for its businesses, as far as it is known."""

    lead: LeadStep


class LeadChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lead_curation_status: LeadCuration
