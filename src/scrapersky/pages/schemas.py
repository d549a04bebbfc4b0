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
    sitemap_file_id: UUID | None = Field(description="The sitemap that speaks for it.")
    url: str = Field(examples=["https://example.com/about"])
    lastmod: datetime | None
    path_depth: int = Field(description="Segments of the path; 0 is the home page.", examples=[1])
    host: str = Field(description="Who is asked when it is read.", examples=["example.com"])
    page_type: str | None = Field(description="Null until it is known.", examples=["contact"])
    page_rule: str | None = Field(
        description="What gave its kind away.", examples=["path: kontakt (de)"]
    )
    page_confidence: float | None
    priority_level: int = Field(description="Lower goes first.", examples=[5])
    page_curation_status: str = Field(examples=["New"])
    page_processing_status: str = Field(examples=["Complete"])
    page_processing_error: str | None
    contact_scrape_status: str = Field(examples=["ContactFound"])
    contacts_found: int | None
    link_text: str | None = Field(description="What the link that led here said.")
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

    @computed_field(description="Why it was not read; null unless it was filtered.")  # type: ignore[prop-decorator]
    @property
    def reason(self) -> str | None:
        if self.page_processing_status != PAGE_STATUSES.skipped:
            return None
        return self.page_processing_error or _explain_filtered(self.page_type)


def _explain_filtered(page_type: str | None) -> str:
    if page_type in (None, "other"):
        return (
            "Nothing says what kind of page it is; such pages are read when somebody selects them."
        )
    return f"Pages of the kind {page_type} are read only when somebody selects them."
