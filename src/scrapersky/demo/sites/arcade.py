"""An arcade whose site is a program and nothing else."""

from scrapersky.demo.answers import page, plain, xml
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.models import WhyEmpty

NAME = "pixel-arcade.example"
BASE = base_url(NAME)
LISTED = [f"{BASE}{path}" for path in ("/", "/games")]
HTML = (
    '<!doctype html><html lang="en"><head><title>Pixel Arcade</title></head><body>'
    '<div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript>'
    '<script src="/static/main.js"></script></body></html>'
)

SITE = TownSite(
    name=NAME,
    shows="There is nothing to read without running its scripts.",
    expected=Expected(Ending.FOUND, urls=len(LISTED), why=WhyEmpty.NEEDS_JAVASCRIPT),
    answers={
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(LISTED)),
    },
    otherwise=page(HTML),
)
