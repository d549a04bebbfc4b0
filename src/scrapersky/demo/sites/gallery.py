"""A gallery that has not opened yet."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.pages import HOME, House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.models import WhyEmpty

NAME = "blue-door-gallery.example"
BASE = base_url(NAME)
PAGES = Pages(
    House(name="Blue Door Gallery"), {HOME: [says("Coming soon. Our site is under construction.")]}
)

SITE = TownSite(
    name=NAME,
    shows="It is still under construction.",
    expected=Expected(Ending.FOUND, urls=1, why=WhyEmpty.NOTHING_PUBLISHED),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset([f"{BASE}/"])),
    },
)
