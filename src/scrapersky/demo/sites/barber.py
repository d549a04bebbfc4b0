"""A barber with one page, honest answers, and no wish to be called."""

from scrapersky.demo import decoys
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

PAGES = Pages(
    House(name="Golden Scissors"),
    {"/": [says("No appointments. Just come in."), *decoys.everything()]},
)

SITE = TownSite(
    name="golden-scissors.example",
    shows="It has no sitemap and says so, and publishes nothing but what only looks like contacts.",
    expected=Expected(Ending.NONE, why=WhyEmpty.NOTHING_PUBLISHED),
    answers=PAGES.answers,
)
