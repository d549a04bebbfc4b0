"""A pharmacy that lives under `www.` and sends everybody there."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.cloaks import rot13
from scrapersky.demo.documents import numbered, robots, urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import american, call_link

NAME = "old-town-pharmacy.example"
BASE = base_url(f"www.{NAME}")
ADVICE = numbered(f"{BASE}/advice", "leaflet", 88)
PAGES = Pages(
    House(name="Old Town Pharmacy", links={"/contacts": "How to reach us"}),
    {
        "/": [says("Open until eight."), call_link(american(88))],
        "/contacts": [rot13(f"counter@{NAME}"), call_link(american(88))],
    },
)

SITE = TownSite(
    name=NAME,
    shows="It redirects every request to its www. name.",
    expected=Expected(Ending.FOUND, urls=len(ADVICE), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{base_url(NAME)}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(ADVICE)),
    },
    lives_at_www=True,
)
