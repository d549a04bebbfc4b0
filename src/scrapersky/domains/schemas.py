"""Domains as the API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class DomainOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain: str = Field(examples=["example.com"])
    base_url: str | None = Field(examples=["https://www.example.com"])
    sitemap_analysis_status: str = Field(examples=["submitted"])
    sitemap_analysis_error: str | None
    sitemap_curation_status: str = Field(examples=["New"])
    last_scan: datetime | None
    next_scan_at: datetime | None
    next_scan_why: str | None = Field(
        examples=["Next look in 3.5 days because the last look found changes (2 new, 0 changed)."]
    )
    scan_warning: str | None
    scan_failures: int
    last_scan_error: str | None
    total_sitemaps: int
    sitemap_urls: int
    last_sitemap_job_id: UUID | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime
