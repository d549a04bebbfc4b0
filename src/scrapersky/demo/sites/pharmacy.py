"""A pharmacy that lives under `www.` and sends everybody there."""

from scrapersky.demo.answers import page, plain, xml
from scrapersky.demo.documents import home, numbered, robots, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "old-town-pharmacy.example"
BASE = base_url(f"www.{NAME}")
ADVICE = numbered(f"{BASE}/advice", "leaflet", 88)

SITE = TownSite(
    name=NAME,
    shows="It redirects every request to its www. name.",
    expected=Expected(Ending.FOUND, urls=len(ADVICE)),
    answers={
        "/": page(home("Old Town Pharmacy", "Open until eight.")),
        "/robots.txt": plain(robots(sitemaps=[f"{base_url(NAME)}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(ADVICE)),
    },
    lives_at_www=True,
)
