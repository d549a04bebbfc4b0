"""A florist who tells nobody about the sitemap that the shop's software made."""

from scrapersky.demo.answers import xml
from scrapersky.demo.cloaks import wordpress_encoder
from scrapersky.demo.documents import index, numbered, urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import british, careless_call_link

NAME = "rose-and-fern.example"
BASE = base_url(NAME)
FLOWERS = [*numbered(f"{BASE}/bouquets", "bouquet", 64), f"{BASE}/contact-us"]
PAGES = Pages(
    House(name="Rose & Fern", language="en-GB", generator="WordPress 6.6.2"),
    {
        "/": [says("Flowers for all occasions.")],
        "/contact-us": [wordpress_encoder(f"hello@{NAME}"), careless_call_link(british(64))],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Nothing names its sitemap; it lies where WordPress puts it, and leads to its contacts.",
    expected=Expected(Ending.FOUND, urls=len(FLOWERS), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/wp-sitemap.xml": xml(index([f"{BASE}/wp-sitemap-posts-1.xml"])),
        "/wp-sitemap-posts-1.xml": xml(urlset(FLOWERS)),
    },
)
