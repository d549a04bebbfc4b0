"""A brewery whose sitemap was written by hand, and not to its end."""

from scrapersky.demo.answers import page, xml
from scrapersky.demo.documents import home, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "two-rivers-brewery.example"
BASE = base_url(NAME)
BEERS = [f"{BASE}/beers?style=ale&brew={number}" for number in range(1, 31)]
"""The bare `&` has no business in XML."""
LOST = f"{BASE}/beers?style=porter&brew=the-last-one"
WHOLE = urlset([*BEERS, LOST])
CUT = WHOLE[: WHOLE.index("the-last-one")]
"""It ends in the middle of an address, which therefore is not one."""

SITE = TownSite(
    name=NAME,
    shows="Its sitemap is broken: bare ampersands, and cut off inside a URL.",
    expected=Expected(Ending.FOUND, urls=len(BEERS)),
    answers={
        "/": page(home("Two Rivers Brewery", "Unfiltered.")),
        "/sitemap.xml": xml(CUT),
    },
)
