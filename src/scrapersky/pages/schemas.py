"""API schemas of pages."""

from __future__ import annotations

from pydantic import computed_field

from scrapersky.lists import RowSchema
from scrapersky.models import PAGE_STATUSES
from scrapersky.pages.listing import PAGES


class PageOut(RowSchema, columns=PAGES.all_columns):
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
