"""Sites without contacts, one for each reason."""

from __future__ import annotations

from scrapersky.demo.sites import markup, sitemap_formats
from scrapersky.demo.sites.builder import (
    HOME_PATH,
    ExpectedResult,
    SiteLayout,
    SitemapOutcome,
    SitePages,
    TownSite,
    build_base_url,
    build_contact_form,
    build_paragraphs,
    build_robots_txt,
    build_urlset,
)
from scrapersky.demo.sites.markup import mailto, retina_logo, text_placeholder
from scrapersky.models import EmptyReason
from scrapersky.testing.responses import (
    close_connection,
    redirect_all,
    serve_html,
    serve_text,
    serve_xml,
)

ARCADE_NAME = "pixel-arcade.example"
ARCADE_BASE = build_base_url(ARCADE_NAME)
ARCADE_URLS = [f"{ARCADE_BASE}{path}" for path in ("/", "/games")]
ARCADE_HTML = (
    '<!doctype html><html lang="en"><head><title>Pixel Arcade</title></head><body>'
    '<div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript>'
    '<script src="/static/main.js"></script></body></html>'
)

ARCADE = TownSite(
    name=ARCADE_NAME,
    shows="Needs JavaScript: nothing to read without running its scripts.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(ARCADE_URLS), why=EmptyReason.NEEDS_JAVASCRIPT
    ),
    answers={
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{ARCADE_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset(ARCADE_URLS)),
    },
    otherwise=serve_html(ARCADE_HTML),
)


BANK_NAME = "citizens-savings.example"
BANK_BASE = build_base_url(BANK_NAME)
BANK_URLS = [f"{BANK_BASE}{path}" for path in ("/", "/contact", "/about-us")]

BANK = TownSite(
    name=BANK_NAME,
    shows="Public sitemap, but every page answers 403.",
    expected=ExpectedResult(SitemapOutcome.FOUND, urls=len(BANK_URLS), why=EmptyReason.BLOCKED),
    answers={
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{BANK_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset(BANK_URLS)),
    },
    otherwise=serve_html("<!doctype html><title>403</title><h1>Forbidden</h1>", status=403),
)


BARBER_PAGES = SitePages(
    SiteLayout(name="Golden Scissors"),
    {"/": [build_paragraphs("No appointments. Just come in."), *markup.list_decoys()]},
)

BARBER = TownSite(
    name="golden-scissors.example",
    shows="No sitemap, and only text that looks like contacts.",
    expected=ExpectedResult(SitemapOutcome.NONE, why=EmptyReason.NOTHING_PUBLISHED),
    answers=BARBER_PAGES.answers,
)


CINEMA = TownSite(
    name="palace-cinema.example",
    shows="Does not answer: it closes the connection.",
    expected=ExpectedResult(SitemapOutcome.FAILED, why=EmptyReason.DOES_NOT_ANSWER),
    otherwise=close_connection,
)


DENTIST_NAME = "bright-molar.example"
DENTIST_BASE = build_base_url(DENTIST_NAME)
DENTIST_PAGES = SitePages(
    SiteLayout(name="Bright Molar Dental", links={"/contact": "Contact us"}),
    {
        "/": [build_paragraphs("We are gentle."), retina_logo()],
        "/contact": [
            build_paragraphs("Tell us where it hurts."),
            build_contact_form(),
            text_placeholder(),
        ],
    },
)
DENTIST_URLS = [DENTIST_BASE + path for path in DENTIST_PAGES.pieces]

DENTIST = TownSite(
    name=DENTIST_NAME,
    shows="Contact form only, without an address or number.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(DENTIST_URLS), why=EmptyReason.ONLY_A_FORM
    ),
    answers={
        **DENTIST_PAGES.answers,
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{DENTIST_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset(DENTIST_URLS)),
    },
)


GALLERY_NAME = "blue-door-gallery.example"
GALLERY_BASE = build_base_url(GALLERY_NAME)
GALLERY_PAGES = SitePages(
    SiteLayout(name="Blue Door Gallery"),
    {HOME_PATH: [build_paragraphs("Coming soon. Our site is under construction.")]},
)

GALLERY = TownSite(
    name=GALLERY_NAME,
    shows="Under construction.",
    expected=ExpectedResult(SitemapOutcome.FOUND, urls=1, why=EmptyReason.NOTHING_PUBLISHED),
    answers={
        **GALLERY_PAGES.answers,
        "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{GALLERY_BASE}/sitemap.xml"])),
        "/sitemap.xml": serve_xml(build_urlset([f"{GALLERY_BASE}/"])),
    },
)


TAILOR = TownSite(
    name="thimble-tailor.example",
    shows="Redirects to another site: its URLs are listed, its contacts are not.",
    expected=ExpectedResult(
        SitemapOutcome.FOUND, urls=len(sitemap_formats.BAKERY_URLS), why=EmptyReason.REDIRECTED
    ),
    otherwise=redirect_all(f"{sitemap_formats.BAKERY.base_url}/"),
)


NOTARY_NAME = "seal-and-ribbon.example"
NOTARY_BASE = build_base_url(NOTARY_NAME)
NOTARY_PAGES = SitePages(
    SiteLayout(name="Seal & Ribbon, notaries", links={"/contact": "Contact"}),
    {"/": [mailto(f"office@{NOTARY_NAME}")], "/contact": [mailto(f"appointments@{NOTARY_NAME}")]},
)
NOTARY_URLS = [NOTARY_BASE + path for path in NOTARY_PAGES.pieces]

NOTARY = TownSite(
    name=NOTARY_NAME,
    shows="robots.txt disallows every page, so none is read.",
    expected=ExpectedResult(SitemapOutcome.FOUND, urls=len(NOTARY_URLS), why=EmptyReason.ROBOTS),
    answers={
        **NOTARY_PAGES.answers,
        "/robots.txt": serve_text(
            build_robots_txt(disallow="/", sitemaps=[f"{NOTARY_BASE}/sitemap.xml"])
        ),
        "/sitemap.xml": serve_xml(build_urlset(NOTARY_URLS)),
    },
)


TOY_SHOP_HTML = (
    "<!doctype html><html><head><title>tin-soldier-toys.example</title></head><body>"
    "<h1>tin-soldier-toys.example</h1><p>This domain is for sale. Buy this domain today: call "
    '<a href="tel:+12025550101">+1 202 555 0101</a>.</p></body></html>'
)

TOY_SHOP = TownSite(
    name="tin-soldier-toys.example",
    shows="Domain for sale; the number on the page is the seller's.",
    expected=ExpectedResult(SitemapOutcome.NOT_ASKED, why=EmptyReason.PARKED),
    otherwise=serve_html(TOY_SHOP_HTML),
)
