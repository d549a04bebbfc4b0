"""A gallery that has not opened yet."""

from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

PAGES = Pages(
    House(name="Blue Door Gallery"), {"/": [says("Coming soon. Our site is under construction.")]}
)

SITE = TownSite(
    name="blue-door-gallery.example",
    shows="It is still under construction.",
    expected=Expected(Ending.NONE, why=WhyEmpty.NOTHING_PUBLISHED),
    answers=PAGES.answers,
)
