"""A tailor who was taken over and leads to somebody else's site."""

from scrapersky.demo.answers import elsewhere
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.demo.sites import bakery
from scrapersky.models import WhyEmpty

SITE = TownSite(
    name="thimble-tailor.example",
    shows="It redirects to another site: that one's URLs are listed, its contacts are not its own.",
    expected=Expected(Ending.FOUND, urls=len(bakery.BREADS), why=WhyEmpty.REDIRECTED),
    otherwise=elsewhere(f"{bakery.SITE.base_url}/"),
)
