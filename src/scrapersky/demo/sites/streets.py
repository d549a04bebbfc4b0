"""Ordinary sites of the town: trades and streets in several languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, cycle
from random import Random

from scrapersky.demo.sites import markup
from scrapersky.demo.sites.builder import (
    HOME_PATH,
    ExpectedResult,
    PageSnippet,
    SiteLayout,
    SitemapOutcome,
    SitePages,
    TownSite,
    build_base_url,
    build_json_ld,
    build_paragraphs,
    build_robots_txt,
    build_urlset,
    number_urls,
)
from scrapersky.demo.sites.markup import (
    EMAIL_MARKUPS,
    DemoPhoneNumber,
    EmailMarkup,
    american,
    australian,
    british,
    call_link,
    facebook,
    french,
    german,
    instagram,
    international,
    linkedin,
    national,
    swedish,
    x,
    youtube,
)
from scrapersky.testing.responses import serve_text, serve_xml

MAX_OFFERS = 25
GENERATORS = ("WordPress 6.6.2", "TYPO3 CMS", None, "Wix.com Website Builder", "Drupal 10")
PROFILES = (instagram, facebook, linkedin, x, youtube)

PhoneMarkup = Callable[[DemoPhoneNumber], PageSnippet]


@dataclass(frozen=True)
class Quarter:
    """Part of the town where one language is spoken."""

    language: str
    trades: tuple[str, ...]
    streets: tuple[str, ...]
    menu: Mapping[str, str]
    """Menu labels by path. The first path is the page with the e-mail address."""
    greeting: str
    number: Callable[[int], DemoPhoneNumber]
    telling: PhoneMarkup = national
    """How the phone number is published. National spelling only works if the language implies the
    country.
    """


QUARTERS = (
    Quarter(
        "en-GB",
        ("plumber", "butcher", "optician"),
        ("mill-lane", "quay-road", "abbey-row"),
        {"/contact-us": "Contact us", "/about": "About us"},
        "Family business since 1962.",
        british,
    ),
    Quarter(
        "en-US",
        ("hardware", "diner", "laundry"),
        ("elm-street", "depot-avenue", "second-street"),
        {"/contact.html": "Contact", "/our-story": "Our story", "/team": "Meet the team"},
        "Proudly serving the neighborhood.",
        american,
    ),
    Quarter(
        "de",
        ("schreinerei", "metzgerei", "goldschmiede"),
        ("am-markt", "an-der-muehle", "hinterm-deich"),
        {"/impressum": "Impressum", "/kontakt": "Kontakt", "/ueber-uns": "Über uns"},
        "Meisterbetrieb in dritter Generation.",
        german,
    ),
    Quarter(
        "fr",
        ("boulangerie", "librairie", "serrurier"),
        ("du-port", "des-halles", "de-la-gare"),
        {"/contactez-nous": "Contactez-nous", "/mentions-legales": "Mentions légales"},
        "Ouvert du mardi au samedi.",
        french,
    ),
    Quarter(
        "sv",
        ("bageri", "cykelverkstad", "blomsterbutik"),
        ("storgatan", "hamnen", "norra-torget"),
        {"/kontakta-oss": "Kontakta oss", "/om-oss": "Om oss"},
        "Välkommen in till oss.",
        swedish,
    ),
    Quarter(
        "es",
        ("panaderia", "ferreteria", "zapateria"),
        ("plaza-mayor", "calle-nueva", "puerto-viejo"),
        {"/aviso-legal": "Aviso legal", "/contacto": "Contacto"},
        "Abierto todos los días.",
        british,
        call_link,
    ),
    Quarter(
        "it",
        ("officina", "pasticceria", "sartoria"),
        ("via-roma", "del-ponte", "san-marco"),
        {"/contatti": "Contatti", "/chi-siamo": "Chi siamo"},
        "Aperti dal 1948.",
        german,
        international,
    ),
    Quarter(
        "en-AU",
        ("surf-shop", "nursery", "mechanic"),
        ("beach-parade", "gum-tree-drive", "wharf-lane"),
        {"/get-in-touch": "Get in touch", "/about-us": "About us"},
        "No worries.",
        australian,
    ),
)


def iter_sites() -> Iterator[TownSite]:
    """Yield the ordinary sites. They are the same in every run, because each quarter has a fixed
    seed.
    """
    cloaks, numbers = cycle(EMAIL_MARKUPS), count()
    for quarter in QUARTERS:
        drawn = Random(quarter.language).sample(quarter.streets, len(quarter.trades))
        for trade, street in zip(quarter.trades, drawn, strict=True):
            yield _build_site(quarter, f"{trade}-{street}", next(cloaks), next(numbers))


def _build_site(quarter: Quarter, corner: str, email_markup: EmailMarkup, number: int) -> TownSite:
    name = f"{corner}.example"
    pages = _build_pages(quarter, corner, email_markup, number)
    base = build_base_url(name)
    paths = [base + path for path in pages.pieces]
    urls = [*paths, *number_urls(f"{base}/offers", "offer", Random(corner).randint(5, MAX_OFFERS))]
    return TownSite(
        name=name,
        shows=f"{email_markup.__name__.replace('_', ' ').capitalize()}, in {quarter.language}.",
        expected=ExpectedResult(SitemapOutcome.FOUND, urls=len(urls), contacts=pages.contacts),
        answers={
            **pages.answers,
            "/robots.txt": serve_text(build_robots_txt(sitemaps=[f"{base}/sitemap.xml"])),
            "/sitemap.xml": serve_xml(build_urlset(urls)),
        },
        is_ordinary=True,
    )


def _build_pages(
    quarter: Quarter, corner: str, email_markup: EmailMarkup, number: int
) -> SitePages:
    title = corner.replace("-", " ").title()
    address, *others = quarter.menu
    desk = Random(corner).choice(("info", "hello", "office", "shop"))
    profile = PROFILES[number % len(PROFILES)]
    layout = SiteLayout(
        name=title,
        language=quarter.language,
        generator=GENERATORS[number % len(GENERATORS)],
        links=quarter.menu,
    )
    home = [
        build_paragraphs(quarter.greeting),
        build_json_ld("LocalBusiness", title),
        *markup.list_decoys(),
    ]
    contact = [
        email_markup(f"{desk}@{corner}.example"),
        quarter.telling(quarter.number(10 + number)),
    ]
    return SitePages(
        layout,
        {
            HOME_PATH: [*home, profile(corner.replace("-", "")[:15])],
            address: contact,
            **{path: [build_paragraphs(quarter.greeting), markup.share_links()] for path in others},
        },
    )


STREET_SITES = tuple(iter_sites())
