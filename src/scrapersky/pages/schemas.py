"""Pages as the API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class PageOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain_id: UUID
    sitemap_file_id: UUID | None = Field(description="The sitemap that speaks for it.")
    url: str = Field(examples=["https://example.com/about"])
    lastmod: datetime | None
    path_depth: int = Field(description="Segments of the path; 0 is the home page.", examples=[1])
    page_type: str | None = Field(description="Null until it is known.")
    priority_level: int = Field(description="Lower goes first.", examples=[5])
    page_curation_status: str = Field(examples=["New"])
    created_by: UUID
    created_at: datetime
    updated_at: datetime
