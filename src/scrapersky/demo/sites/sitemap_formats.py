"""Sites that differ in where their sitemap is and in its format."""

from __future__ import annotations

from scrapersky.demo.sites.builder import (
    ExpectedResult,
    SiteLayout,
    SitemapOutcome,
    SitePages,
    TownSite,
    build_base_url,
    build_json_ld,
    build_news_sitemap,
    build_paragraphs,
    build_robots_txt,
    build_rss,
    build_sitemap_index,
    build_urlset,
    number_urls,
)
from scrapersky.demo.sites.markup import (
    british,
    call_link,
    cloudflare,
    form_placeholder,
    german,
    hcard,
    instagram,
    mail_share_link,
    mailto,
    malformed_call_link,
    national,
    retina_logo,
    share_links,
    spelled_at_dot,
    typo3_token,
    wordpress_encoder,
    youtube,
)
from scrapersky.testing.responses import serve_gzip, serve_text, serve_xml

BAKERY_NAME = "corner-bakery.example"
BAKERY_URLS = [
    *number_urls(f"{build_base_url(BAKERY_NAME)}/bread", "loaf", 36),
    f"{build_base_url(BAKERY_NAME)}/contact",
]
BAKERY_LAYOUT = SiteLayout(
    name="Corner Bakery",
    language="en-GB",
    head='<link rel="sitemap" type="application/xml" href="/feeds/pages.xml">',
    links={"/contact": "Contact us"},
)
BAKERY_PAGES = SitePages(
    BAKERY_LAYOUT,
    {
        "/": [build_paragraphs("Sourdough since 1931."), retina_logo(), form_placeholder()],
        "/contact": [
            mailto(f"orders@{BAKERY_NAME}"),
            call_link(british(31)),
            instagram("corner.bakery"),
        ],
    },
)

BAKERY = TownSite(
    name=BAKERY_NAME,
    shows="The home page links the sitemap, at an unusual path.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(BAKERY_URLS), contacts=BAKERY_PAGES.contacts
    ),
    answers={**BAKERY_PAGES.answers, "/feeds/pages.xml": serve_xml(build_urlset(BAKERY_URLS))},
)


BOOKSHOP_NAME = "paper-lantern-books.example"
BOOKSHOP_BASE = build_base_url(BOOKSHOP_NAME)
BOOKSHOP_URLS = [*number_urls(f"{BOOKSHOP_BASE}/books", "title", 420), f"{BOOKSHOP_BASE}/impressum"]
BOOKSHOP_PAGES = SitePages(
    SiteLayout(name="Paper Lantern Books", language="de", generator="TYPO3 CMS"),
    {
        "/": [build_paragraphs("Gebraucht und gut.")],
        "/impressum": [typo3_token(f"buchladen@{BOOKSHOP_NAME}"), national(german(420))],
    },
)

BOOKSHOP = TownSite(
    name=BOOKSHOP_NAME,
    shows="Plain text sitemap, which alone leads to the imprint.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(BOOKSHOP_URLS), contacts=BOOKSHOP_PAGES.contacts
    ),
    answers={
        **BOOKSHOP_PAGES.answers,
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{BOOKSHOP_BASE}/sitemap.txt"])),
        "/sitemap.txt": serve_text("\n".join(BOOKSHOP_URLS) + "\n"),
    },
)


CHOIR_NAME = "st-brendan-choir.example"
CHOIR_BASE = build_base_url(CHOIR_NAME)
CHOIR_URLS = number_urls(f"{CHOIR_BASE}/concerts", "evensong", 12)
CHOIR_PAGES = SitePages(
    SiteLayout(name="St Brendan Choir", links={"/our-team": "Our team"}),
    {
        "/": [build_paragraphs("We sing on Thursdays."), youtube("stbrendanchoir")],
        "/our-team": [
            build_paragraphs("Ask our conductor."),
            spelled_at_dot(f"choir@{CHOIR_NAME}"),
        ],
    },
)

CHOIR = TownSite(
    name=CHOIR_NAME,
    shows="No sitemap; an RSS feed lists the newest pages.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(CHOIR_URLS), contacts=CHOIR_PAGES.contacts
    ),
    answers={
        **CHOIR_PAGES.answers,
        "/rss.xml": serve_xml(build_rss("Concerts", CHOIR_BASE, CHOIR_URLS)),
    },
)


FLORIST_NAME = "rose-and-fern.example"
FLORIST_BASE = build_base_url(FLORIST_NAME)
FLORIST_URLS = [
    *number_urls(f"{FLORIST_BASE}/bouquets", "bouquet", 64),
    f"{FLORIST_BASE}/contact-us",
]
FLORIST_PAGES = SitePages(
    SiteLayout(name="Rose & Fern", language="en-GB", generator="WordPress 6.6.2"),
    {
        "/": [build_paragraphs("Flowers for all occasions.")],
        "/contact-us": [
            wordpress_encoder(f"hello@{FLORIST_NAME}"),
            malformed_call_link(british(64)),
        ],
    },
)

FLORIST = TownSite(
    name=FLORIST_NAME,
    shows="Sitemap at the WordPress default path only; it leads to the contacts.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(FLORIST_URLS), contacts=FLORIST_PAGES.contacts
    ),
    answers={
        **FLORIST_PAGES.answers,
        "/wp-sitemap.xml": serve_xml(
            build_sitemap_index([f"{FLORIST_BASE}/wp-sitemap-posts-1.xml"])
        ),
        "/wp-sitemap-posts-1.xml": serve_xml(build_urlset(FLORIST_URLS)),
    },
)


MUSEUM_NAME = "harbour-museum.example"
MUSEUM_BASE = build_base_url(MUSEUM_NAME)
MUSEUM_COLLECTION_URLS = number_urls(f"{MUSEUM_BASE}/collection", "exhibit", 250)
MUSEUM_EVENT_URLS = number_urls(f"{MUSEUM_BASE}/events", "tour", 18)
MUSEUM_CRAWL_DELAY_SECONDS = 0.2
MUSEUM_PAGES = SitePages(
    SiteLayout(name="Harbour Museum", links={"/team": "The people behind it"}),
    {
        "/": [
            build_paragraphs("Nets, lamps and a whale."),
            build_json_ld("Museum", "Harbour Museum", telephone="+442079460080"),
        ],
        "/team": [hcard(f"curator@{MUSEUM_NAME}"), hcard(f"guides@{MUSEUM_NAME}")],
    },
)

MUSEUM = TownSite(
    name=MUSEUM_NAME,
    shows="robots.txt names two sitemaps and sets a crawl delay.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND,
        urls=len(MUSEUM_COLLECTION_URLS) + len(MUSEUM_EVENT_URLS),
        contacts=MUSEUM_PAGES.contacts,
    ),
    answers={
        **MUSEUM_PAGES.answers,
        "/robots.txt": serve_text(
            build_robots_txt(
                sitemaps=[f"{MUSEUM_BASE}/collection.xml", f"{MUSEUM_BASE}/events.xml"],
                crawl_delay_seconds=MUSEUM_CRAWL_DELAY_SECONDS,
            )
        ),
        "/collection.xml": serve_xml(build_urlset(MUSEUM_COLLECTION_URLS)),
        "/events.xml": serve_xml(build_urlset(MUSEUM_EVENT_URLS)),
    },
)


NEWSPAPER_NAME = "morning-courier.example"
NEWSPAPER_BASE = build_base_url(NEWSPAPER_NAME)
NEWSPAPER_URLS_BY_YEAR = {
    year: number_urls(f"{NEWSPAPER_BASE}/{year}", "report", 1_200) for year in (2023, 2024, 2025)
}
NEWSPAPER_NEWS_URLS = number_urls(f"{NEWSPAPER_BASE}/today", "news", 40)
NEWSPAPER_ARCHIVE_PATHS = {year: f"/sitemaps/{year}.xml.gz" for year in NEWSPAPER_URLS_BY_YEAR}
NEWSPAPER_SITEMAP_URLS = [
    NEWSPAPER_BASE + path for path in (*NEWSPAPER_ARCHIVE_PATHS.values(), "/sitemaps/news.xml")
]
NEWSPAPER_PAGES = SitePages(
    SiteLayout(name="The Morning Courier", links={"/imprint": "Imprint", "/contact": "Newsroom"}),
    {
        "/": [
            build_paragraphs("All the news of a small town."),
            build_json_ld(
                "NewsMediaOrganization",
                "The Morning Courier",
                same_as=["https://x.com/morningcourier"],
            ),
            share_links(),
            mail_share_link(),
        ],
        "/imprint": [cloudflare(f"editor@{NEWSPAPER_NAME}")],
        "/contact": [cloudflare(f"newsroom@{NEWSPAPER_NAME}")],
    },
)

NEWSPAPER = TownSite(
    name=NEWSPAPER_NAME,
    shows="robots.txt names an index of compressed sitemaps.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND,
        urls=sum(map(len, NEWSPAPER_URLS_BY_YEAR.values())) + len(NEWSPAPER_NEWS_URLS),
        contacts=NEWSPAPER_PAGES.contacts,
    ),
    answers={
        **NEWSPAPER_PAGES.answers,
        "/robots.txt": serve_text(
            build_robots_txt(sitemaps=[f"{NEWSPAPER_BASE}/sitemaps/index.xml"])
        ),
        "/sitemaps/index.xml": serve_xml(build_sitemap_index(NEWSPAPER_SITEMAP_URLS)),
        "/sitemaps/news.xml": serve_xml(
            build_news_sitemap(NEWSPAPER_NEWS_URLS, publication="The Morning Courier")
        ),
        **{
            path: serve_gzip(build_urlset(NEWSPAPER_URLS_BY_YEAR[year]))
            for year, path in NEWSPAPER_ARCHIVE_PATHS.items()
        },
    },
)
