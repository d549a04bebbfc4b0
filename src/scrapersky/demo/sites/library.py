"""A library on an old line."""

from scrapersky.demo.answers import drip, page, plain
from scrapersky.demo.documents import home, numbered, robots, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "millbrook-library.example"
BASE = base_url(NAME)
SHELVES = numbered(f"{BASE}/catalogue", "volume", 900)
DRIP_SECONDS = 2.0

SITE = TownSite(
    name=NAME,
    shows="It is slow: its sitemap drips in over two seconds.",
    expected=Expected(Ending.FOUND, urls=len(SHELVES)),
    answers={
        "/": page(home("Millbrook Library", "Please be quiet.")),
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": drip(urlset(SHELVES), seconds=DRIP_SECONDS),
    },
)
