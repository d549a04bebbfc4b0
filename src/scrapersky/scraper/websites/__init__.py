"""What stands in a business's website field: a site of its own, a profile, somebody's page."""

from scrapersky.scraper.websites.following import follow
from scrapersky.scraper.websites.model import Website, WebsiteKind
from scrapersky.scraper.websites.reading import read_website

__all__ = ["Website", "WebsiteKind", "follow", "read_website"]
