"""A library on an old line."""

from scrapersky.demo.answers import drip, plain
from scrapersky.demo.cloaks import joomla
from scrapersky.demo.documents import numbered, robots, urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import american, national

NAME = "millbrook-library.example"
BASE = base_url(NAME)
SHELVES = numbered(f"{BASE}/catalogue", "volume", 900)
DRIP_SECONDS = 2.0
HOUSE = House(
    name="Millbrook Library",
    language="en-US",
    generator="Joomla! - Open Source Content Management",
    links={"/contact.php": "Ask a librarian"},
)
PAGES = Pages(
    HOUSE,
    {
        "/": [says("Please be quiet.")],
        "/contact.php": [joomla(f"desk@{NAME}"), national(american(9))],
    },
)

SITE = TownSite(
    name=NAME,
    shows="It is slow: its sitemap drips in over two seconds.",
    expected=Expected(Ending.FOUND, urls=len(SHELVES), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": drip(urlset(SHELVES), seconds=DRIP_SECONDS),
    },
)
