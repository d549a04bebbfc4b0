"""The ordinary houses of the town: trades × streets, in quarters that speak different languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, cycle
from random import Random

from scrapersky.demo import decoys
from scrapersky.demo.answers import plain, xml
from scrapersky.demo.cloaks import EVERY_CLOAK, Cloak
from scrapersky.demo.documents import numbered, robots, urlset
from scrapersky.demo.pages import HOME, House, Pages, organisation, says
from scrapersky.demo.profiles import facebook, instagram, linkedin, x, youtube
from scrapersky.demo.published import Shown
from scrapersky.demo.site import Ending, Expected, TownSite, base_url
from scrapersky.demo.telephones import (
    Number,
    american,
    australian,
    british,
    call_link,
    french,
    german,
    international,
    national,
    swedish,
)

MOST_OFFERS = 25
GENERATORS = ("WordPress 6.6.2", "TYPO3 CMS", None, "Wix.com Website Builder", "Drupal 10")
PROFILES = (instagram, facebook, linkedin, x, youtube)

Telling = Callable[[Number], Shown]


@dataclass(frozen=True)
class Quarter:
    """Where one language is spoken."""

    language: str
    trades: tuple[str, ...]
    streets: tuple[str, ...]
    menu: Mapping[str, str]
    """Where the address stands comes first."""
    greeting: str
    number: Callable[[int], Number]
    telling: Telling = national
    """How a number is shown; a national one is understood where the language tells the country."""


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


def houses() -> Iterator[TownSite]:
    """The same ones every time: each quarter draws its streets with a seed of its own."""
    cloaks, numbers = cycle(EVERY_CLOAK), count()
    for quarter in QUARTERS:
        drawn = Random(quarter.language).sample(quarter.streets, len(quarter.trades))
        for trade, street in zip(quarter.trades, drawn, strict=True):
            yield _house(quarter, f"{trade}-{street}", next(cloaks), next(numbers))


def _house(quarter: Quarter, corner: str, cloak: Cloak, number: int) -> TownSite:
    name = f"{corner}.example"
    pages = _pages(quarter, corner, cloak, number)
    base = base_url(name)
    paths = [base + path for path in pages.pieces]
    urls = [*paths, *numbered(f"{base}/offers", "offer", Random(corner).randint(5, MOST_OFFERS))]
    return TownSite(
        name=name,
        shows=f"{cloak.__name__.replace('_', ' ').capitalize()}, in {quarter.language}.",
        expected=Expected(Ending.FOUND, urls=len(urls), contacts=pages.contacts),
        answers={
            **pages.answers,
            "/robots.txt": plain(robots(sitemaps=[f"{base}/sitemap.xml"])),
            "/sitemap.xml": xml(urlset(urls)),
        },
        is_ordinary=True,
    )


def _pages(quarter: Quarter, corner: str, cloak: Cloak, number: int) -> Pages:
    title = corner.replace("-", " ").title()
    address, *others = quarter.menu
    desk = Random(corner).choice(("info", "hello", "office", "shop"))
    profile = PROFILES[number % len(PROFILES)]
    house = House(
        name=title,
        language=quarter.language,
        generator=GENERATORS[number % len(GENERATORS)],
        links=quarter.menu,
    )
    home = [says(quarter.greeting), organisation("LocalBusiness", title), *decoys.everything()]
    contact = [cloak(f"{desk}@{corner}.example"), quarter.telling(quarter.number(10 + number))]
    return Pages(
        house,
        {
            HOME: [*home, profile(corner.replace("-", "")[:15])],
            address: contact,
            **{path: [says(quarter.greeting), decoys.share_links()] for path in others},
        },
    )


SITES = tuple(houses())
