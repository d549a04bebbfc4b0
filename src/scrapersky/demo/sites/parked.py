"""A toy shop that let its name go."""

from scrapersky.demo.answers import page
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

HTML = (
    "<!doctype html><html><head><title>tin-soldier-toys.example</title></head><body>"
    "<h1>tin-soldier-toys.example</h1><p>This domain is for sale. Buy this domain today: call "
    '<a href="tel:+12025550101">+1 202 555 0101</a>.</p></body></html>'
)

SITE = TownSite(
    name="tin-soldier-toys.example",
    shows="Its name is for sale; the number on the page is the seller's.",
    expected=Expected(Ending.NOT_ASKED, why=WhyEmpty.PARKED),
    otherwise=page(HTML),
)
