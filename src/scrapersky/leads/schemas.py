"""API schemas of leads."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.leads.lineage import LineageStep, SiteLineage
from scrapersky.leads.listing import LEADS
from scrapersky.lists import RowSchema
from scrapersky.models import LeadCuration


class LeadOut(RowSchema, columns=LEADS.all_columns):
    pass


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
