"""A cinema that closed."""

from scrapersky.demo.answers import hang_up
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

SITE = TownSite(
    name="palace-cinema.example",
    shows="It does not answer: the connection is closed without a word.",
    expected=Expected(Ending.FAILED, why=WhyEmpty.DOES_NOT_ANSWER),
    otherwise=hang_up,
)
