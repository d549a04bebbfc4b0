"""A florist who tells nobody about the sitemap that the shop's software made."""

from scrapersky.demo.answers import page, xml
from scrapersky.demo.documents import home, index, numbered, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "rose-and-fern.example"
BASE = base_url(NAME)
FLOWERS = numbered(f"{BASE}/bouquets", "bouquet", 64)

SITE = TownSite(
    name=NAME,
    shows="Nothing names its sitemap; it lies where WordPress puts it.",
    expected=Expected(Ending.FOUND, urls=len(FLOWERS)),
    answers={
        "/": page(home("Rose & Fern", "Flowers for all occasions.")),
        "/wp-sitemap.xml": xml(index([f"{BASE}/wp-sitemap-posts-1.xml"])),
        "/wp-sitemap-posts-1.xml": xml(urlset(FLOWERS)),
    },
)
