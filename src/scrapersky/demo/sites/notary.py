"""A notary whose robots.txt asks all programs to stay out."""

from scrapersky.demo.answers import plain
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.documents import robots
from scrapersky.demo.pages import House, Pages
from scrapersky.demo.site import Ending, Expected, TownSite
from scrapersky.models import WhyEmpty

NAME = "seal-and-ribbon.example"
PAGES = Pages(House(name="Seal & Ribbon, notaries"), {"/": [mailto(f"office@{NAME}")]})

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt forbids reading anything, so nothing is read.",
    expected=Expected(Ending.NONE, why=WhyEmpty.ROBOTS),
    answers={**PAGES.answers, "/robots.txt": plain(robots(disallow="/"))},
)
