"""A museum that asks its visitors to walk slowly."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.cloaks import hcard
from scrapersky.demo.documents import numbered, robots, urlset
from scrapersky.demo.pages import House, Pages, organisation, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "harbour-museum.example"
BASE = base_url(NAME)
WORKS = numbered(f"{BASE}/collection", "exhibit", 250)
EVENTS = numbered(f"{BASE}/events", "tour", 18)
CRAWL_DELAY_SECONDS = 0.2
PAGES = Pages(
    House(name="Harbour Museum", links={"/team": "The people behind it"}),
    {
        "/": [
            says("Nets, lamps and a whale."),
            organisation("Museum", "Harbour Museum", telephone="+442079460080"),
        ],
        "/team": [hcard(f"curator@{NAME}"), hcard(f"guides@{NAME}")],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt names two sitemaps and asks for a pause between requests.",
    expected=Expected(Ending.FOUND, urls=len(WORKS) + len(EVENTS), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(
            robots(
                sitemaps=[f"{BASE}/collection.xml", f"{BASE}/events.xml"],
                crawl_delay_seconds=CRAWL_DELAY_SECONDS,
            )
        ),
        "/collection.xml": xml(urlset(WORKS)),
        "/events.xml": xml(urlset(EVENTS)),
    },
)
