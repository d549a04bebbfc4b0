"""A dentist who can be reached by a form only."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.decoys import placeholder_in_the_text, retina_logo
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.pages import House, Pages, contact_form, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.models import WhyEmpty

NAME = "bright-molar.example"
BASE = base_url(NAME)
PAGES = Pages(
    House(name="Bright Molar Dental", links={"/contact": "Contact us"}),
    {
        "/": [says("We are gentle."), retina_logo()],
        "/contact": [says("Tell us where it hurts."), contact_form(), placeholder_in_the_text()],
    },
)
LISTED = [BASE + path for path in PAGES.pieces]

SITE = TownSite(
    name=NAME,
    shows="It publishes a contact form, and no address or number.",
    expected=Expected(Ending.FOUND, urls=len(LISTED), why=WhyEmpty.ONLY_A_FORM),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(LISTED)),
    },
)
