"""The stored site states match those of the scraper."""

from __future__ import annotations

from scrapersky.models.domains import SITE_STATES
from scrapersky.scraper.site.model import SiteState


def test_the_table_accepts_every_state_the_scraper_reports() -> None:
    assert set(SITE_STATES) == {state.value for state in SiteState}
