"""A brewery whose sitemap was written by hand, and not to its end."""

from scrapersky.demo.answers import xml
from scrapersky.demo.cloaks import back_to_front
from scrapersky.demo.documents import urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.profiles import facebook
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "two-rivers-brewery.example"
BASE = base_url(NAME)
BEERS = [f"{BASE}/beers?style=ale&brew={number}" for number in range(1, 31)]
"""The bare `&` has no business in XML."""
LOST = f"{BASE}/beers?style=porter&brew=the-last-one"
WHOLE = urlset([*BEERS, LOST])
CUT = WHOLE[: WHOLE.index("the-last-one")]
"""It ends in the middle of an address, which therefore is not one."""
PAGES = Pages(
    House(name="Two Rivers Brewery", links={"/about-us": "About us"}),
    {
        "/": [says("Unfiltered."), facebook("tworiversbrewery")],
        "/about-us": [says("Three friends and a kettle."), back_to_front(f"cheers@{NAME}")],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its sitemap is broken: bare ampersands, and cut off inside a URL.",
    expected=Expected(Ending.FOUND, urls=len(BEERS), contacts=PAGES.contacts),
    answers={**PAGES.answers, "/sitemap.xml": xml(CUT)},
)
