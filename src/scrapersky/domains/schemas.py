"""API schemas of domains."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.models.domains import MAX_COUNTED_URLS


class DomainOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain: str = Field(examples=["example.com"])
    base_url: str | None = Field(examples=["https://www.example.com"])
    status: str = Field(description="Status of reading the home page.", examples=["completed"])
    error: str | None
    sitemap_analysis_status: str = Field(examples=["submitted"])
    sitemap_analysis_error: str | None
    sitemap_curation_status: str = Field(examples=["New"])
    last_scan: datetime | None
    next_scan_at: datetime | None
    next_scan_why: str | None = Field(
        examples=["Next scan in 3.5 days because the last scan found changes (2 new, 0 changed)."]
    )
    scan_warning: str | None
    scan_failures: int
    last_scan_error: str | None
    total_sitemaps: int
    sitemap_urls: int = Field(
        description="Distinct URLs across all sitemaps of the domain. A number above "
        f"{MAX_COUNTED_URLS:,} is an upper bound: the sum of the sitemaps' URL counts."
    )
    last_sitemap_job_id: UUID | None
    metadata_read_at: datetime | None
    site_state: str | None = Field(
        description="State of the home page. Null until it has been read.",
        examples=["ok"],
    )
    site_state_reason: str | None
    redirects_to: str | None = Field(description="The other site that the home page redirects to.")
    title: str | None
    description: str | None
    language: str | None = Field(examples=["de"])
    favicon_url: str | None
    logo_url: str | None
    cms: str | None = Field(examples=["WordPress"])
    cms_version: str | None
    is_wordpress: bool | None
    wordpress_version: str | None
    has_elementor: bool | None
    site_builder: str | None
    shop_system: str | None
    tech_stack: list[dict[str, Any]] = Field(
        description="Each with name, category, version and evidence."
    )
    email_addresses: list[str]
    phone_numbers: list[str]
    social_links: list[str]
    has_contact_form: bool | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime


class DomainDetail(DomainOut):
    """A domain with the fields that are too large for a list."""

    meta_json: dict[str, Any] = Field(
        description="The organisation as stated on the home page, and other metadata."
    )
