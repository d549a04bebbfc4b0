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
    domain_id: UUID | None = Field(description="Null when the business has no site of its own.")
    local_business_id: UUID | None = Field(
        description="The lead's business. When several share the site, the one with most reviews."
    )
    businesses: int = Field(
        description="Number of businesses that share the site, such as the branches of a chain."
    )
    name: str | None = Field(examples=["Bäckerei Berger"])
    name_from: str | None = Field(description="Source of the name.", examples=["json_ld"])
    category: str | None = Field(examples=["Bakery"])
    address: str | None
    phone: str | None = Field(examples=["+4930901820"])
    phone_from: str | None = Field(
        description="Source of the phone number: `site` or a place provider.",
        examples=["google"],
    )
    website: str | None = Field(examples=["https://bakery.de"])
    best_email: str | None = Field(examples=["info@bakery.de"])
    best_email_why: str | None = Field(description="Why this address was chosen.")
    other_emails: list[str]
    other_phones: list[str]
    profiles: list[str]
    contacts: int = Field(
        description="Number of contacts found on its pages, without suppressed ones."
    )
    rating: float | None
    reviews_count: int | None
    why_empty: str | None = Field(
        description="Why no page has a contact; null if one has. A provider may still have "
        "reported a phone number or e-mail address.",
        examples=["only_a_form"],
    )
    why_empty_detail: str | None
    lead_curation_status: str = Field(examples=["New"])
    completed_at: datetime | None = Field(
        description="When all pending work for the lead was done."
    )
    created_by: UUID
    created_at: datetime
    updated_at: datetime


class LeadContact(BaseModel):
    """Summary of a contact."""

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
    suppressed: bool = Field(description="Whether the contact is suppressed.")


class LeadDetail(LeadOut):
    contact_list: list[LeadContact] = Field(
        description="By kind, then highest confidence first. At most 500."
    )


class LeadStep(LineageStep):
    name: str | None


class LeadLineage(SiteLineage):
    """Steps from the lead back to the searches that found its businesses, as far as known."""

    lead: LeadStep


class LeadChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lead_curation_status: LeadCuration
