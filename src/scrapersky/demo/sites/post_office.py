"""A post office whose server was just being restarted."""

from scrapersky.demo.answers import plain, trouble_first, xml
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.pages import HOME, House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import british, call_link

NAME = "market-post-office.example"
BASE = base_url(NAME)
PAGES = Pages(
    House(name="Market Post Office"),
    {HOME: [says("Closed for lunch."), mailto(f"counter@{NAME}"), call_link(british(90))]},
)

SITE = TownSite(
    name=NAME,
    shows="Its home page answers 503 the first time; the retry gets through.",
    expected=Expected(Ending.FOUND, urls=1, contacts=PAGES.contacts),
    answers={
        HOME: trouble_first(PAGES.answers[HOME]),
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset([f"{BASE}/"])),
    },
)
