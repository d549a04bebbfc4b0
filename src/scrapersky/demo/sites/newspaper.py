"""A newspaper with an index of compressed sitemaps, and one of today's news."""

from scrapersky.demo.answers import gz, plain, xml
from scrapersky.demo.cloaks import cloudflare
from scrapersky.demo.decoys import share_links, shared_by_mail
from scrapersky.demo.documents import index, news, numbered, robots, urlset
from scrapersky.demo.pages import House, Pages, organisation, says
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "morning-courier.example"
BASE = base_url(NAME)
YEARS = {year: numbered(f"{BASE}/{year}", "report", 1_200) for year in (2023, 2024, 2025)}
TODAY = numbered(f"{BASE}/today", "news", 40)
ARCHIVES = {year: f"/sitemaps/{year}.xml.gz" for year in YEARS}
CHILDREN = [BASE + path for path in (*ARCHIVES.values(), "/sitemaps/news.xml")]
PAGES = Pages(
    House(name="The Morning Courier", links={"/imprint": "Imprint", "/contact": "Newsroom"}),
    {
        "/": [
            says("All the news of a small town."),
            organisation(
                "NewsMediaOrganization",
                "The Morning Courier",
                same_as=["https://x.com/morningcourier"],
            ),
            share_links(),
            shared_by_mail(),
        ],
        "/imprint": [cloudflare(f"editor@{NAME}")],
        "/contact": [cloudflare(f"newsroom@{NAME}")],
    },
)

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt names an index of compressed sitemaps.",
    expected=Expected(
        Ending.FOUND,
        urls=sum(map(len, YEARS.values())) + len(TODAY),
        contacts=PAGES.contacts,
    ),
    answers={
        **PAGES.answers,
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemaps/index.xml"])),
        "/sitemaps/index.xml": xml(index(CHILDREN)),
        "/sitemaps/news.xml": xml(news(TODAY, publication="The Morning Courier")),
        **{path: gz(urlset(YEARS[year])) for year, path in ARCHIVES.items()},
    },
)
