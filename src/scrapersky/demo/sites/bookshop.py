"""A bookshop whose sitemap is a plain list."""

from scrapersky.demo.answers import page, plain
from scrapersky.demo.documents import home, numbered, robots
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "paper-lantern-books.example"
BASE = base_url(NAME)
BOOKS = numbered(f"{BASE}/books", "title", 420)

SITE = TownSite(
    name=NAME,
    shows="Its sitemap is a plain text file with one URL per line.",
    expected=Expected(Ending.FOUND, urls=len(BOOKS)),
    answers={
        "/": page(home("Paper Lantern Books", "Second-hand and first-rate.")),
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.txt"])),
        "/sitemap.txt": plain("\n".join(BOOKS) + "\n"),
    },
)
