"""API schemas of pages."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field

from scrapersky.models import PAGE_STATUSES


class PageOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain_id: UUID
    sitemap_file_id: UUID | None = Field(description="The sitemap file that lists it.")
    url: str = Field(examples=["https://example.com/about"])
    lastmod: datetime | None
    path_depth: int = Field(
        description="Number of path segments. 0 is the home page.", examples=[1]
    )
    host: str = Field(
        description="The host that serves it, with its port.", examples=["example.com"]
    )
    page_type: str | None = Field(description="Null until classified.", examples=["contact"])
    page_rule: str | None = Field(
        description="The rule that determined the page type.", examples=["path: kontakt (de)"]
    )
    page_confidence: float | None
    priority_level: int = Field(description="Lower numbers are read first.", examples=[5])
    page_curation_status: str = Field(examples=["New"])
    page_processing_status: str = Field(examples=["Complete"])
    page_processing_error: str | None
    contact_scrape_status: str = Field(examples=["ContactFound"])
    contacts_found: int | None
    link_text: str | None = Field(description="Text of the link that led to the page.")
    read_at: datetime | None
    final_url: str | None
    http_status: int | None
    title: str | None
    description: str | None
    h1: str | None
    canonical: str | None
    robots_meta: str | None
    language: str | None
    schema_types: list[str] | None
    forms: int | None
    has_contact_form: bool | None
    word_count: int | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime

    @computed_field(description="Why the page was not read. Null unless it was filtered.")  # type: ignore[prop-decorator]
    @property
    def reason(self) -> str | None:
        if self.page_processing_status != PAGE_STATUSES.skipped:
            return None
        return self.page_processing_error or _explain_filtered(self.page_type)


def _explain_filtered(page_type: str | None) -> str:
    if page_type in (None, "other"):
        return "The page type is unknown. Select the page to have it read."
    return f"Pages of type {page_type} are not read automatically. Select the page to have it read."
