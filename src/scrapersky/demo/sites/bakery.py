"""A bakery whose home page says where its sitemap is."""

from scrapersky.demo.answers import page, xml
from scrapersky.demo.documents import home, numbered, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "corner-bakery.example"
BREADS = [*numbered(f"{base_url(NAME)}/bread", "loaf", 36), f"{base_url(NAME)}/contact"]
LINK = '<link rel="sitemap" type="application/xml" href="/feeds/pages.xml">'

SITE = TownSite(
    name=NAME,
    shows="Its home page links its sitemap, at a place nobody would guess.",
    expected=Expected(Ending.FOUND, urls=len(BREADS)),
    answers={
        "/": page(home("Corner Bakery", "Sourdough since 1931.", head=LINK)),
        "/feeds/pages.xml": xml(urlset(BREADS)),
    },
)
