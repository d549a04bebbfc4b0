"""A newspaper with an index of compressed sitemaps, and one of today's news."""

from scrapersky.demo.answers import gz, page, plain, xml
from scrapersky.demo.documents import home, index, news, numbered, robots, urlset
from scrapersky.demo.site import Ending, Expected, TownSite, base_url

NAME = "morning-courier.example"
BASE = base_url(NAME)
YEARS = {year: numbered(f"{BASE}/{year}", "report", 1_200) for year in (2023, 2024, 2025)}
TODAY = numbered(f"{BASE}/today", "news", 40)
ARCHIVES = {year: f"/sitemaps/{year}.xml.gz" for year in YEARS}
CHILDREN = [BASE + path for path in (*ARCHIVES.values(), "/sitemaps/news.xml")]

SITE = TownSite(
    name=NAME,
    shows="Its robots.txt names an index of compressed sitemaps.",
    expected=Expected(Ending.FOUND, urls=sum(map(len, YEARS.values())) + len(TODAY)),
    answers={
        "/": page(home("The Morning Courier", "All the news of a small town.")),
        "/robots.txt": plain(robots(sitemaps=[f"{BASE}/sitemaps/index.xml"])),
        "/sitemaps/index.xml": xml(index(CHILDREN)),
        "/sitemaps/news.xml": xml(news(TODAY, publication="The Morning Courier")),
        **{path: gz(urlset(YEARS[year])) for year, path in ARCHIVES.items()},
    },
)
