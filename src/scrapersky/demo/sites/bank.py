"""A bank that lets no program in."""

from scrapersky.demo.answers import page, plain, xml
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.models import WhyEmpty

NAME = "citizens-savings.example"
BASE = base_url(NAME)
LISTED = [f"{BASE}{path}" for path in ("/", "/contact", "/about-us")]

SITE = TownSite(
    name=NAME,
    shows="Its sitemap is open, and every page answers 403.",
    expected=Expected(Ending.FOUND, urls=len(LISTED), why=WhyEmpty.BLOCKED),
    answers={
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(LISTED)),
    },
    otherwise=page("<!doctype html><title>403</title><h1>Forbidden</h1>", status=403),
)
