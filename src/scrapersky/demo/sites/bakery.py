"""A bakery whose home page says where its sitemap is."""

from scrapersky.demo.answers import xml
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.decoys import placeholder_in_a_form, retina_logo
from scrapersky.demo.documents import numbered, urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.profiles import instagram
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import british, call_link

NAME = "corner-bakery.example"
BREADS = [*numbered(f"{base_url(NAME)}/bread", "loaf", 36), f"{base_url(NAME)}/contact"]
HOUSE = House(
    name="Corner Bakery",
    language="en-GB",
    head='<link rel="sitemap" type="application/xml" href="/feeds/pages.xml">',
    links={"/contact": "Contact us"},
)
PAGES = Pages(
    HOUSE,
    {
        "/": [says("Sourdough since 1931."), retina_logo(), placeholder_in_a_form()],
        "/contact": [mailto(f"orders@{NAME}"), call_link(british(31)), instagram("corner.bakery")],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its home page links its sitemap, at a place nobody would guess.",
    expected=Expected(Ending.FOUND, urls=len(BREADS), contacts=PAGES.contacts),
    answers={**PAGES.answers, "/feeds/pages.xml": xml(urlset(BREADS))},
)
