"""A choir that has a feed of its concerts and no sitemap."""

from scrapersky.demo.answers import page, xml
from scrapersky.demo.documents import home, numbered, rss
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "st-brendan-choir.example"
BASE = base_url(NAME)
CONCERTS = numbered(f"{BASE}/concerts", "evensong", 12)

SITE = TownSite(
    name=NAME,
    shows="It has no sitemap, but an RSS feed names its newest pages.",
    expected=Expected(Ending.FOUND, urls=len(CONCERTS)),
    answers={
        "/": page(home("St Brendan Choir", "We sing on Thursdays.")),
        "/rss.xml": xml(rss("Concerts", BASE, CONCERTS)),
    },
)
