"""A notary whose robots.txt asks all programs to stay out."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.pages import House, Pages
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.models import WhyEmpty

NAME = "seal-and-ribbon.example"
BASE = base_url(NAME)
PAGES = Pages(
    House(name="Seal & Ribbon, notaries", links={"/contact": "Contact"}),
    {"/": [mailto(f"office@{NAME}")], "/contact": [mailto(f"appointments@{NAME}")]},
)
LISTED = [BASE + path for path in PAGES.pieces]

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt forbids reading any page, so none is read, whatever stands there.",
    expected=Expected(Ending.FOUND, urls=len(LISTED), why=WhyEmpty.ROBOTS),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(disallow="/", sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(LISTED)),
    },
)
