"""A bookshop whose sitemap is a plain list."""

from scrapersky.demo.answers import plain
from scrapersky.demo.cloaks import typo3_token
from scrapersky.demo.documents import numbered, robots
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import german, national

NAME = "paper-lantern-books.example"
BASE = base_url(NAME)
BOOKS = [*numbered(f"{BASE}/books", "title", 420), f"{BASE}/impressum"]
PAGES = Pages(
    House(name="Paper Lantern Books", language="de", generator="TYPO3 CMS"),
    {
        "/": [says("Gebraucht und gut.")],
        "/impressum": [typo3_token(f"buchladen@{NAME}"), national(german(420))],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its sitemap is a plain text file, and the only thing that names its imprint.",
    expected=Expected(Ending.FOUND, urls=len(BOOKS), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.txt"])),
        "/sitemap.txt": plain("\n".join(BOOKS) + "\n"),
    },
)
