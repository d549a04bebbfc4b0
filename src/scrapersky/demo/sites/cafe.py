"""A café with a name that is not written in ASCII."""

from scrapersky.demo.answers import plain, xml
from scrapersky.demo.cloaks import mailto
from scrapersky.demo.documents import robots, urlset
from scrapersky.demo.pages import House, Pages, says
from scrapersky.demo.published import email
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import german, international
from scrapersky.scraper.contact_finder import Method

SPELLED = "café-übersee.example"
NAME = "xn--caf-bersee-d7a3u.example"
BASE = base_url(NAME)
CAKES = [f"{BASE}/kuchen/{cake}" for cake in ("linzer", "sacher", "mohn")]
HOUSE = House(
    name="Café Übersee", language="de", links={"/kontakt": "Kontakt", "/impressum": "Impressum"}
)
PAGES = Pages(
    HOUSE,
    {
        "/": [says("Kuchen ab elf.")],
        "/impressum": [mailto(f"inhaber@{NAME}"), international(german(11))],
        "/kontakt": [email(f"<p>theke@{SPELLED}</p>", f"theke@{NAME}", Method.TEXT)],
    },
)

SITE = TownSite(
    name=NAME,
    shows=f"Its name is {SPELLED}, and its address is written both ways.",
    expected=Expected(Ending.FOUND, urls=len(CAKES), contacts=PAGES.contacts),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemap.xml"])),
        "/sitemap.xml": xml(urlset(CAKES)),
    },
)
