"""A bicycle shop that moved to another program and forgot its robots.txt."""

from scrapersky.demo.answers import plain
from scrapersky.demo.cloaks import spamspan
from scrapersky.demo.documents import robots
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import british, national

NAME = "spoke-and-chain.example"
HOUSE = House(
    name="Spoke & Chain",
    language="en-GB",
    generator="Drupal 10 (https://www.drupal.org)",
    links={"/get-in-touch": "Get in touch"},
)
PAGES = Pages(
    HOUSE,
    {
        "/": [says("Repairs while you wait.")],
        "/get-in-touch": [spamspan(f"workshop@{NAME}"), national(british(57))],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt announces a sitemap that is not there.",
    expected=Expected(Ending.NONE, contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{base_url(NAME)}/shop/sitemap.xml"])),
    },
)
