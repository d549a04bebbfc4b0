"""Tell what a site is from its home page: what it is made with, whose it is, how it is.

    metadata = await detect_site_metadata("bakery.example", fetch=fetch)

`read_site` reads a home page that was fetched by other means; how technologies and pages that
are no sites are recognised stands in `fingerprints.toml`.
"""

from scrapersky.scraper.site_metadata.detection import (
    SiteInTrouble,
    dead_site,
    detect_site_metadata,
    visit_site,
)
from scrapersky.scraper.site_metadata.model import (
    Address,
    Organisation,
    SiteMetadata,
    SiteState,
    Technology,
)
from scrapersky.scraper.site_metadata.reading import SiteVisit, look_at, read_site
from scrapersky.scraper.site_metadata.sites import registrable_site

__all__ = [
    "Address",
    "Organisation",
    "SiteInTrouble",
    "SiteMetadata",
    "SiteState",
    "SiteVisit",
    "Technology",
    "dead_site",
    "detect_site_metadata",
    "look_at",
    "read_site",
    "registrable_site",
    "visit_site",
]
