"""A bicycle shop that moved to another program and forgot its robots.txt."""

from scrapersky.demo.answers import page, plain
from scrapersky.demo.documents import home, robots
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "spoke-and-chain.example"

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt announces a sitemap that is not there.",
    expected=Expected(Ending.NONE),
    answers={
        "/": page(home("Spoke & Chain", "Repairs while you wait.")),
        "/robots.txt": plain(robots(sitemaps=[f"{base_url(NAME)}/shop/sitemap.xml"])),
    },
)
