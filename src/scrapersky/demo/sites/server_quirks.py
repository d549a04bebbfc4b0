"""Sites with an unusual server or sitemap: redirects, slow, broken, missing, soft 404, IDN, 503."""

from __future__ import annotations

from scrapersky.demo.sites.builder import (
    HOME_PATH,
    ExpectedResult,
    SiteLayout,
    SitemapOutcome,
    SitePages,
    TownSite,
    build_base_url,
    build_email_snippet,
    build_json_ld,
    build_paragraphs,
    build_robots_txt,
    build_urlset,
    number_urls,
)
from scrapersky.demo.sites.markup import (
    american,
    british,
    call_link,
    facebook,
    german,
    international,
    joomla,
    mailto,
    national,
    reversed_text,
    rot13,
    spamspan,
)
from scrapersky.scraper.contacts.model import ExtractionMethod
from scrapersky.testing.responses import fail_first, serve_html, serve_slowly, serve_text, serve_xml

BICYCLE_SHOP_NAME = "spoke-and-chain.example"
BICYCLE_SHOP_LAYOUT = SiteLayout(
    name="Spoke & Chain",
    language="en-GB",
    generator="Drupal 10 (https://www.drupal.org)",
    links={"/get-in-touch": "Get in touch"},
)
BICYCLE_SHOP_PAGES = SitePages(
    BICYCLE_SHOP_LAYOUT,
    {
        "/": [build_paragraphs("Repairs while you wait.")],
        "/get-in-touch": [spamspan(f"workshop@{BICYCLE_SHOP_NAME}"), national(british(57))],
    },
)

BICYCLE_SHOP = TownSite(
    name=BICYCLE_SHOP_NAME,
    shows="robots.txt names a sitemap that does not exist.",
    expected=ExpectedResult(SitemapOutcome.NONE, contacts=BICYCLE_SHOP_PAGES.contacts),
    answers={
        **BICYCLE_SHOP_PAGES.answers,
        "/robots.txt": serve_text(
            build_robots_txt(sitemaps=[f"{build_base_url(BICYCLE_SHOP_NAME)}/shop/sitemap.xml"])
        ),
    },
)


BREWERY_NAME = "two-rivers-brewery.example"
BREWERY_BASE = build_base_url(BREWERY_NAME)
BREWERY_URLS = [f"{BREWERY_BASE}/beers?style=ale&brew={number}" for number in range(1, 31)]
"""URLs with a bare `&`, which is not valid in XML."""
BREWERY_CUT_URL = f"{BREWERY_BASE}/beers?style=porter&brew=the-last-one"
BREWERY_WHOLE_SITEMAP = build_urlset([*BREWERY_URLS, BREWERY_CUT_URL])
BREWERY_CUT_SITEMAP = BREWERY_WHOLE_SITEMAP[: BREWERY_WHOLE_SITEMAP.index("the-last-one")]
"""Sitemap cut off in the middle of its last URL, which therefore must not be stored."""
BREWERY_PAGES = SitePages(
    SiteLayout(name="Two Rivers Brewery", links={"/about-us": "About us"}),
    {
        "/": [build_paragraphs("Unfiltered."), facebook("tworiversbrewery")],
        "/about-us": [
            build_paragraphs("Three friends and a kettle."),
            reversed_text(f"cheers@{BREWERY_NAME}"),
        ],
    },
)

BREWERY = TownSite(
    name=BREWERY_NAME,
    shows="Broken sitemap: bare ampersands, and truncated inside a URL.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(BREWERY_URLS), contacts=BREWERY_PAGES.contacts
    ),
    answers={**BREWERY_PAGES.answers, "/sitemap.xml": serve_xml(BREWERY_CUT_SITEMAP)},
)


CAFE_UNICODE_NAME = "café-übersee.example"
CAFE_NAME = "xn--caf-bersee-d7a3u.example"
CAFE_BASE = build_base_url(CAFE_NAME)
CAFE_URLS = [f"{CAFE_BASE}/kuchen/{cake}" for cake in ("linzer", "sacher", "mohn")]
CAFE_LAYOUT = SiteLayout(
    name="Café Übersee", language="de", links={"/kontakt": "Kontakt", "/impressum": "Impressum"}
)
CAFE_PAGES = SitePages(
    CAFE_LAYOUT,
    {
        "/": [build_paragraphs("Kuchen ab elf.")],
        "/impressum": [mailto(f"inhaber@{CAFE_NAME}"), international(german(11))],
        "/kontakt": [
            build_email_snippet(
                f"<p>theke@{CAFE_UNICODE_NAME}</p>", f"theke@{CAFE_NAME}", ExtractionMethod.TEXT
            )
        ],
    },
)

CAFE = TownSite(
    name=CAFE_NAME,
    shows=f"Internationalised name ({CAFE_UNICODE_NAME}); e-mail addresses in both spellings.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(CAFE_URLS), contacts=CAFE_PAGES.contacts
    ),
    answers={
        **CAFE_PAGES.answers,
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{CAFE_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset(CAFE_URLS)),
    },
)


HOTEL_NAME = "grand-hotel-astoria.example"
HOTEL_PAGES = SitePages(
    SiteLayout(name="Grand Hotel Astoria"),
    {
        HOME_PATH: [
            build_paragraphs("We could not find that page. Book a room?"),
            build_json_ld(
                "Hotel",
                "Grand Hotel Astoria",
                email=f"reservations@{HOTEL_NAME}",
                telephone="+12025550177",
                same_as=["https://www.facebook.com/grandhotelastoria"],
                address={"streetAddress": "1 Station Square", "addressCountry": "US"},
            ),
        ]
    },
)

HOTEL = TownSite(
    name=HOTEL_NAME,
    shows="Soft 404: answers every URL with a page and status 200.",
    expected=ExpectedResult(SitemapOutcome.NONE, contacts=HOTEL_PAGES.contacts),
    otherwise=serve_html(HOTEL_PAGES.html(HOME_PATH)),
)


LIBRARY_NAME = "millbrook-library.example"
LIBRARY_BASE = build_base_url(LIBRARY_NAME)
LIBRARY_URLS = number_urls(f"{LIBRARY_BASE}/catalogue", "volume", 900)
LIBRARY_SITEMAP_SECONDS = 2.0
LIBRARY_LAYOUT = SiteLayout(
    name="Millbrook Library",
    language="en-US",
    generator="Joomla! - Open Source Content Management",
    links={"/contact.php": "Ask a librarian"},
)
LIBRARY_PAGES = SitePages(
    LIBRARY_LAYOUT,
    {
        "/": [build_paragraphs("Please be quiet.")],
        "/contact.php": [joomla(f"desk@{LIBRARY_NAME}"), national(american(9))],
    },
)

LIBRARY = TownSite(
    name=LIBRARY_NAME,
    shows="Slow server: the sitemap takes two seconds to arrive.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(LIBRARY_URLS), contacts=LIBRARY_PAGES.contacts
    ),
    answers={
        **LIBRARY_PAGES.answers,
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{LIBRARY_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_slowly(build_urlset(LIBRARY_URLS), seconds=LIBRARY_SITEMAP_SECONDS),
    },
)


PHARMACY_NAME = "old-town-pharmacy.example"
PHARMACY_BASE = build_base_url(f"www.{PHARMACY_NAME}")
PHARMACY_URLS = number_urls(f"{PHARMACY_BASE}/advice", "leaflet", 88)
PHARMACY_PAGES = SitePages(
    SiteLayout(name="Old Town Pharmacy", links={"/contacts": "How to reach us"}),
    {
        "/": [build_paragraphs("Open until eight."), call_link(american(88))],
        "/contacts": [rot13(f"counter@{PHARMACY_NAME}"), call_link(american(88))],
    },
)

PHARMACY = TownSite(
    name=PHARMACY_NAME,
    shows="Redirects every request to its www. name.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(PHARMACY_URLS), contacts=PHARMACY_PAGES.contacts
    ),
    answers={
        **PHARMACY_PAGES.answers,
        "/robots.txt": serve_text(
            build_robots_txt(sitemaps=[f"{build_base_url(PHARMACY_NAME)}/sitemap.xml"])
        ),
        "/sitemap.xml": serve_xml(build_urlset(PHARMACY_URLS)),
    },
    lives_at_www=True,
)


POST_OFFICE_NAME = "market-post-office.example"
POST_OFFICE_BASE = build_base_url(POST_OFFICE_NAME)
POST_OFFICE_PAGES = SitePages(
    SiteLayout(name="Market Post Office"),
    {
        HOME_PATH: [
            build_paragraphs("Closed for lunch."),
            mailto(f"counter@{POST_OFFICE_NAME}"),
            call_link(british(90)),
        ]
    },
)

POST_OFFICE = TownSite(
    name=POST_OFFICE_NAME,
    shows="The home page answers 503 once; the retry succeeds.",
    expected=ExpectedResult(SitemapOutcome.FOUND, urls=1, contacts=POST_OFFICE_PAGES.contacts),
    answers={
        HOME_PATH: fail_first(POST_OFFICE_PAGES.answers[HOME_PATH]),
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{POST_OFFICE_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset([f"{POST_OFFICE_BASE}/"])),
    },
)
