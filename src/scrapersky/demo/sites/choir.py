"""A choir that has a feed of its concerts and no sitemap."""

from scrapersky.demo.answers import xml
from scrapersky.demo.cloaks import spelled_out
from scrapersky.demo.documents import numbered, rss
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.profiles import youtube
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "st-brendan-choir.example"
BASE = base_url(NAME)
CONCERTS = numbered(f"{BASE}/concerts", "evensong", 12)
PAGES = Pages(
    House(name="St Brendan Choir", links={"/our-team": "Our team"}),
    {
        "/": [says("We sing on Thursdays."), youtube("stbrendanchoir")],
        "/our-team": [says("Ask our conductor."), spelled_out(f"choir@{NAME}")],
    },
)

SITE = TownSite(
    name=NAME,
    shows="It has no sitemap, but an RSS feed names its newest pages.",
    expected=Expected(Ending.FOUND, urls=len(CONCERTS), contacts=PAGES.contacts),
    answers={**PAGES.answers, "/rss.xml": xml(rss("Concerts", BASE, CONCERTS))},
)
