"""Classification of pages by their URL, and selection of the pages to read."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapersky.scraper.pages.classification import (
    PRIORITIES,
    PageClassification,
    classify,
    is_worth_reading,
    pick_pages,
)
from scrapersky.scraper.pages.slugs import WORD_INDEX, PageClass, _list_entries, list_phrases

SITE = "https://www.muster.example"

LANGUAGES = {"en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "cs", "tr"}

PAGES = {
    "en": {
        "/contact": "contact",
        "/contact.php": "contact",
        "/contacts": "contact",
        "/en/contact": "contact",
        "/Contact-Us/": "contact",
        "/get-in-touch.html": "contact",
        "/about": "about",
        "/AboutUs.aspx": "about",
        "/about-our-team": "team",
        "/company/leadership": "team",
        "/legal-notice": "imprint",
        "/privacy-policy": "privacy",
        "/terms-and-conditions": "terms",
        "/careers/": "careers",
        "/services.htm": "services",
        "/plans-and-pricing": "pricing",
        "/our-menu": "menu",
        "/store-locator": "locations",
        "/press-releases": "press",
        "/news/": "blog",
    },
    "de": {
        "/kontakt": "contact",
        "/kontakt.html": "contact",
        "/de-at/kontakt": "contact",
        "/kontakt-anfahrt": "contact",
        "/Kontaktformular": "contact",
        "/ansprechpartner-vertrieb": "contact",
        "/über-uns": "about",
        "/%C3%BCber-uns/": "about",
        "/%FCber-uns": "about",
        "/ueber-uns": "about",
        "/uber_uns.php": "about",
        "/wir-ueber-uns": "about",
        "/impressum": "imprint",
        "/IMPRESSUM.HTM": "imprint",
        "/impressum-datenschutz": "imprint",
        "/impressum-schreinerei-holz": "imprint",
        "/datenschutzerklaerung": "privacy",
        "/agb": "terms",
        "/stellenangebote": "careers",
        "/leistungen": "services",
        "/preisliste": "pricing",
        "/getraenkekarte": "menu",
        "/oeffnungszeiten": "locations",
        "/pressemitteilungen": "press",
        "/aktuelles": "blog",
    },
    "fr": {
        "/contactez-nous": "contact",
        "/nous-contacter.php": "contact",
        "/fr/coordonnées": "contact",
        "/qui-sommes-nous": "about",
        "/a-propos": "about",
        "/%C3%A0-propos": "about",
        "/notre-equipe": "team",
        "/l-équipe": "team",
        "/mentions-legales": "imprint",
        "/politique-de-confidentialite": "privacy",
        "/cgv": "terms",
        "/recrutement": "careers",
        "/nos-prestations": "services",
        "/nos-tarifs": "pricing",
        "/la-carte": "menu",
        "/nos-magasins": "locations",
        "/espace-presse": "press",
        "/actualites": "blog",
    },
    "es": {
        "/contacto": "contact",
        "/contactenos.html": "contact",
        "/contáctanos": "contact",
        "/quienes-somos": "about",
        "/sobre-nosotros": "about",
        "/nuestro-equipo": "team",
        "/aviso-legal": "imprint",
        "/politica-de-privacidad": "privacy",
        "/terminos-y-condiciones": "terms",
        "/trabaja-con-nosotros": "careers",
        "/servicios": "services",
        "/precios": "pricing",
        "/nuestra-carta": "menu",
        "/donde-estamos": "locations",
        "/sala-de-prensa": "press",
        "/noticias": "blog",
    },
    "it": {
        "/contatti": "contact",
        "/contattaci.php": "contact",
        "/contatti-e-orari": "contact",
        "/chi-siamo": "about",
        "/azienda": "about",
        "/il-nostro-team": "team",
        "/note-legali": "imprint",
        "/informativa-privacy": "privacy",
        "/lavora-con-noi": "careers",
        "/servizi": "services",
        "/listino-prezzi": "pricing",
        "/carta-dei-vini": "menu",
        "/dove-siamo": "locations",
        "/rassegna-stampa": "press",
        "/novit%C3%A0": "blog",
    },
    "pt": {
        "/contato": "contact",
        "/fale-conosco": "contact",
        "/pt-br/entre-em-contato": "contact",
        "/quem-somos": "about",
        "/sobre-nós": "about",
        "/nossa-equipe": "team",
        "/informacoes-legais": "imprint",
        "/politica-de-privacidade": "privacy",
        "/trabalhe-conosco": "careers",
        "/servi%C3%A7os": "services",
        "/precos": "pricing",
        "/cardapio": "menu",
        "/onde-estamos": "locations",
        "/imprensa": "press",
    },
    "nl": {
        "/neem-contact-op": "contact",
        "/contactgegevens": "contact",
        "/over-ons": "about",
        "/wie-zijn-wij": "about",
        "/ons-team": "team",
        "/colofon": "imprint",
        "/privacyverklaring": "privacy",
        "/algemene-voorwaarden": "terms",
        "/vacatures": "careers",
        "/diensten": "services",
        "/tarieven": "pricing",
        "/menukaart": "menu",
        "/vestigingen": "locations",
        "/persberichten": "press",
        "/nieuws": "blog",
    },
    "pl": {
        "/pl/kontakt": "contact",
        "/dane-kontaktowe": "contact",
        "/o-nas": "about",
        "/o-firmie.html": "about",
        "/nasz-zespół": "team",
        "/nasz-zespol": "team",
        "/nota-prawna": "imprint",
        "/polityka-prywatności": "privacy",
        "/regulamin": "terms",
        "/praca": "careers",
        "/us%C5%82ugi": "services",
        "/cennik": "pricing",
        "/jadlospis": "menu",
        "/jak-dojechac": "locations",
        "/biuro-prasowe": "press",
        "/aktualnosci": "blog",
    },
    "sv": {
        "/kontakta-oss": "contact",
        "/kontaktuppgifter": "contact",
        "/om-oss": "about",
        "/om-företaget": "about",
        "/vara-medarbetare": "team",
        "/foretagsinformation": "imprint",
        "/integritetspolicy": "privacy",
        "/köpvillkor": "terms",
        "/lediga-jobb": "careers",
        "/tjanster": "services",
        "/prislista": "pricing",
        "/lunchmeny": "menu",
        "/hitta-hit": "locations",
        "/pressrum": "press",
        "/nyheter": "blog",
    },
    "da": {
        "/kontakt-os": "contact",
        "/kontaktoplysninger": "contact",
        "/om-os": "about",
        "/hvem-er-vi": "about",
        "/medarbejdere": "team",
        "/firmaoplysninger": "imprint",
        "/privatlivspolitik": "privacy",
        "/handelsbetingelser": "terms",
        "/ledige-stillinger": "careers",
        "/l%C3%B8sninger": "services",
        "/loesninger": "services",
        "/vores-priser": "pricing",
        "/menukort": "menu",
        "/aabningstider": "locations",
        "/presserum": "press",
        "/nyheder": "blog",
    },
    "cs": {
        "/kontakty": "contact",
        "/napiste-nam": "contact",
        "/o-nás": "about",
        "/kdo-jsme": "about",
        "/nas-tym": "team",
        "/identifikacni-udaje": "imprint",
        "/ochrana-osobnich-udaju": "privacy",
        "/obchodni-podminky": "terms",
        "/volna-mista": "careers",
        "/sluzby": "services",
        "/ceník": "pricing",
        "/jidelni-listek": "menu",
        "/poboc%CC%8Cky": "locations",
        "/tiskove-zpravy": "press",
        "/novinky": "blog",
    },
    "tr": {
        "/iletisim": "contact",
        "/İLETİŞİM": "contact",
        "/bize-ulasin": "contact",
        "/tr/hakkimizda": "about",
        "/hakkımızda": "about",
        "/kurumsal": "about",
        "/ekibimiz": "team",
        "/kunye": "imprint",
        "/gizlilik-politikasi": "privacy",
        "/kullanim-kosullari": "terms",
        "/insan-kaynaklari": "careers",
        "/hizmetlerimiz": "services",
        "/fiyat-listesi": "pricing",
        "/men%C3%BCm%C3%BCz": "menu",
        "/subelerimiz": "locations",
        "/basin-bultenleri": "press",
        "/haberler": "blog",
    },
}


def seen_as(path: str, **hints: str) -> str:
    page = classify(SITE + path, **hints)
    return page.detail or page.page_class.value


@pytest.mark.parametrize(
    ("language", "path", "expected"),
    [(language, path, name) for language, pages in PAGES.items() for path, name in pages.items()],
)
def test_pages_are_known_in_twelve_languages(language: str, path: str, expected: str) -> None:
    page = classify(SITE + path)

    assert (page.detail or page.page_class.value) == expected
    assert page.confidence >= 0.6
    assert page.rule.startswith("path: ")


def test_every_class_has_words_in_every_language() -> None:
    without = {"home", "other", "blog", "category", "product"}
    spoken: dict[str, set[str]] = {}
    for _, (page_class, detail), language in list_phrases():
        spoken.setdefault(f"{page_class} {detail}", set()).add(language)

    assert set(PAGES) == LANGUAGES
    assert {
        kind: LANGUAGES - languages
        for kind, languages in spoken.items()
        if kind.split()[0] not in without and languages - {""} != LANGUAGES
    } == {}


def test_no_word_stands_for_two_classes() -> None:
    kinds: dict[str, set[object]] = {}
    for slug, kind, _, _ in _list_entries():
        kinds.setdefault(slug, set()).add(kind)

    assert {slug: each for slug, each in kinds.items() if len(each) > 1} == {}
    assert len(WORD_INDEX) > 2_000


def test_the_words_come_with_the_package() -> None:
    assert files("scrapersky.scraper.pages").joinpath("words.toml").is_file()


# Shapes of addresses


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "home"),
        ("/", "home"),
        ("/index.php", "home"),
        ("/Default.aspx", "home"),
        ("/en/", "home"),
        ("/de-at", "home"),
        ("/us/en", "home"),
        ("/startseite.html", "home"),
        ("/#contact", "home"),
        ("/?utm_source=letter&gclid=1", "home"),
        ("/pages/contact-us", "contact"),
        ("/p/contact-us.html", "contact"),
        ("/index.php/en/contact", "contact"),
        ("/contact/index.html", "contact"),
        ("/contact//index.html", "contact"),
        ("//contact//", "contact"),
        ("/company/contact", "contact"),
        ("/content/4-about-us", "about"),
        ("/contact.jsp;jsessionid=12AB", "contact"),
        ("/contact#form", "contact"),
        ("/contact?subject=offer", "contact"),
        ("/#!/contact", "contact"),
        ("/contact.en.html", "contact"),
        ("/contact%20us", "contact"),
        ("/contact+us", "contact"),
        ("/contact-muster", "contact"),
        ("/about-muster", "about"),
        ("/?page=contact", "contact"),
        ("/index.php?page=kontakt.php", "contact"),
        ("/index.php?route=information/contact", "contact"),
        ("/index.php?option=com_contact&view=category", "contact"),
        ("/?page_id=12", "other"),
        ("/?p=12", "other"),
        ("/?s=contact", "other"),
        ("/node/12", "other"),
        ("/contact.pdf", "other"),
        ("/wiki/Contact", "other"),
        ("/shop/impressum", "imprint"),
        ("/blog/impressum", "imprint"),
        ("/legal/privacy", "privacy"),
        ("/about/team", "team"),
        ("/career/contact", "contact"),
        ("/kontakt-karriere", "contact"),
        ("/presse/kontakt", "contact"),
    ],
)
def test_addresses_of_every_shape_are_read(path: str, expected: str) -> None:
    assert seen_as(path) == expected


@pytest.mark.parametrize(
    ("path", "page_class"),
    [
        ("/blog", "blog"),
        ("/blog/contact-us-is-new", "blog"),
        ("/2024/05/contact", "blog"),
        ("/2024/about-us", "blog"),
        ("/magazin/2024/05/ueber-uns", "blog"),
        ("/2024-05-17-our-team-grows", "blog"),
        ("/tag/team", "blog"),
        ("/author/jane", "blog"),
        ("/feed", "blog"),
        ("/contact/feed/", "blog"),
        ("/news.rss", "blog"),
        ("/page/2", "blog"),
        ("/product/contact-grill", "product"),
        ("/products/contact", "product"),
        ("/collections/new/products/about-blank", "product"),
        ("/dp/B0001", "product"),
        ("/shop/contact-grill", "product"),
        ("/products", "category"),
        ("/shop", "category"),
        ("/product-category/menu", "category"),
        ("/kategorie/team", "category"),
        ("/?cat=3", "category"),
        ("/?product=grill", "product"),
    ],
)
def test_posts_products_and_lists_stay_what_they_are(path: str, page_class: str) -> None:
    page = classify(SITE + path)

    assert page.page_class == page_class
    assert not is_worth_reading(page)


@pytest.mark.parametrize(
    "path",
    [
        "/contact-lenses",
        "/contactless",
        "/contact-grill.html",
        "/about-blank-tables",
        "/teamwear",
        "/team-building",
        "/imprint-shirts",
        "/press-machines",
        "/price-tag",
        "/menu-boards",
        "/service-pack-for-windows",
        "/careerbuilder-review",
        "/kontaktlinsen",
        "/jobst-stockings",
        "/why-you-should-contact-us-before-you-buy-a-house",
        "/home-services",
        "/contact-us-thank-you",
        "/legality-of-things",
        "/контакт",
        "/联系我们",
        "/x",
    ],
)
def test_lookalikes_are_other_pages(path: str) -> None:
    page = classify(SITE + path)

    assert (page.page_class, page.rule) == (PageClass.other, "path: no known word")
    assert not is_worth_reading(page)


@pytest.mark.parametrize(
    "path",
    [
        "/about/history/1990",
        "/contact/form/thanks",
        "/about/philosophy-of-bread",
        "/contact/berlin",
        "/press/machines",
        "/team/jane-doe",
        "/jobs/team-lead-berlin",
    ],
)
def test_pages_below_a_page_are_hardly_worth_it(path: str) -> None:
    above = classify(SITE + "/" + path.split("/")[1])
    page = classify(SITE + path)

    assert page.page_class is above.page_class
    assert "below" in page.rule
    assert page.confidence < 0.5
    assert page.priority > classify(SITE + "/x").priority
    assert not is_worth_reading(page)


def test_the_deeper_a_page_the_less_sure_its_class() -> None:
    paths = ["/contact", "/a/b/contact", "/a/b/c/contact"]

    pages = [classify(SITE + path) for path in paths]

    assert [page.path_depth for page in pages] == [1, 3, 4]
    assert pages[0].confidence > pages[1].confidence > pages[2].confidence


def test_a_language_prefix_and_an_index_file_are_no_depth() -> None:
    assert classify(SITE + "/de-at/kontakt/index.html").path_depth == 1
    assert classify(SITE + "/en/index.html").path_depth == 0


def test_a_page_below_one_of_its_own_class_comes_after_it() -> None:
    above, below = classify(SITE + "/about-us"), classify(SITE + "/about-us/our-history")

    assert below.page_class is above.page_class
    assert below.confidence < above.confidence


# Rules, titles and links


def test_the_rule_says_what_was_seen() -> None:
    paths = ["/kontakt", "/cs/kontakt", "/impressum.html", "/about/x", "/?page=contact"]

    said = [classify(SITE + path).rule for path in (*paths, "/jobs/kontakt")]

    assert said == [
        "path: kontakt (de)",
        "path: kontakt (cs)",
        "path: impressum (de), imprint",
        "path: below about (en)",
        "query: contact (en)",
        "path: careers, contact",
    ]


def test_a_word_of_many_meanings_counts_in_its_own_language() -> None:
    unknown, swedish, english = (
        classify(SITE + "/om", language=language) for language in (None, "sv-SE", "en")
    )

    assert swedish.confidence > unknown.confidence > english.confidence
    assert (is_worth_reading(swedish), is_worth_reading(english)) == (True, False)


def test_a_title_gives_the_class_where_the_path_says_nothing() -> None:
    page = classify(SITE + "/?p=12", title="Impressum | Muster GmbH")

    assert (page.page_class, page.detail) == (PageClass.legal, "imprint")
    assert page.rule == "title: impressum (de), imprint"
    assert is_worth_reading(page)


def test_a_link_gives_the_class_and_a_title_that_agrees_makes_it_surer() -> None:
    link = classify(SITE + "/node/7", link_text="Über uns »")
    both = classify(SITE + "/node/7", link_text="Über uns »", title="Muster – Über uns")

    assert (link.page_class, both.page_class) == (PageClass.about, PageClass.about)
    assert both.confidence > link.confidence
    assert both.rule == "title: uber-uns (de); link agrees"


def test_the_path_decides_and_the_rule_says_who_disagrees() -> None:
    alone = classify(SITE + "/kontakt")
    agreed = classify(SITE + "/kontakt", title="Kontakt")
    disputed = classify(SITE + "/kontakt", title="Unser Team", link_text="Kontakt")

    assert agreed.confidence > alone.confidence > disputed.confidence
    assert agreed.rule == "path: kontakt (de); title agrees"
    assert disputed.page_class is PageClass.contact
    assert disputed.rule == "path: kontakt (de); title says team; link agrees"


def test_a_title_outweighs_a_guess() -> None:
    page = classify(SITE + "/about/faces", title="Meet the team")

    assert page.page_class is PageClass.team
    assert page.rule == "title: meet-the-team (en); path says about"


def test_a_post_stays_a_post_whatever_its_title() -> None:
    page = classify(SITE + "/blog/2024/05/x", title="Contact us")

    assert page.page_class is PageClass.blog
    assert page.rule.endswith("; title says contact")


# Choosing


def test_what_yields_most_is_read_first() -> None:
    paths = [
        *("/impressum", "/contact", "/careers/contact", "/press/contact", "/team", "/about", "/"),
        *("/locations", "/press", "/privacy", "/careers", "/terms", "/services", "/x"),
        *("/contact/form", "/products", "/products/x", "/blog/x"),
    ]

    priorities = [classify(SITE + path).priority for path in paths]

    assert all(first < second for first, second in pairwise(priorities))
    assert {kind[0] for kind in PRIORITIES} == set(PageClass)


def test_only_some_classes_are_worth_reading() -> None:
    paths = {
        *("/", "/contact", "/impressum", "/privacy", "/about", "/team", "/locations", "/press"),
        *("/jobs/kontakt", "/terms", "/jobs", "/services", "/prices", "/menu"),
        *("/x", "/news", "/products", "/product/x"),
    }

    worth = {path for path in paths if is_worth_reading(classify(SITE + path))}

    assert worth == {
        *("/", "/contact", "/impressum", "/privacy", "/about", "/team", "/locations", "/press"),
        "/jobs/kontakt",
    }


def classified(*paths: str) -> list[tuple[str, PageClassification]]:
    return [(path, classify(SITE + path)) for path in paths]


def chosen(pages: list[tuple[str, PageClassification]], limit: int = 6, **hints: str) -> list[str]:
    return [url for url, _ in pick_pages(pages, limit=limit, **hints)]


def test_the_few_right_pages_are_picked_best_first() -> None:
    pages = classified(
        *("/", "/blog/1", "/products/1", "/about", "/team", "/contact", "/contact/form"),
        *("/impressum", "/privacy", "/terms", "/locations", "/press", "/x"),
    )

    assert chosen(pages) == ["/impressum", "/contact", "/team", "/about", "/", "/locations"]
    assert chosen(pages, limit=3) == ["/impressum", "/contact", "/team"]
    assert chosen(pages, limit=0) == []


def test_translations_of_a_page_are_read_once_in_the_main_language() -> None:
    pages = classified(
        "/", "/en/contact", "/kontakt", "/fr/contact", "/en/imprint", "/de/impressum"
    )

    assert chosen(pages, language="de-AT") == ["/de/impressum", "/kontakt", "/"]
    assert chosen(pages, language="en") == ["/en/imprint", "/en/contact", "/"]


def test_the_most_frequent_language_is_the_main_one_where_all_have_a_prefix() -> None:
    pages = classified("/de/kontakt", "/fr/contact", "/fr/equipe", "/fr/mentions-legales")

    assert chosen(pages) == ["/fr/mentions-legales", "/fr/contact", "/fr/equipe"]


def test_a_second_page_of_a_kind_comes_after_the_first_of_each_and_a_third_never() -> None:
    pages = classified("/contact", "/info/contact-us", "/service/contact", "/about")

    assert chosen(pages) == ["/contact", "/about", "/info/contact-us"]


def test_a_site_without_such_pages_has_none_picked() -> None:
    assert chosen(classified("/x", "/blog", "/products/1")) == []


# Any text


@given(
    st.text() | st.text("/%?#&=-.ü1a", max_size=80),
    st.none() | st.text(),
    st.none() | st.text(),
    st.none() | st.text(),
)
@example("https://[::1/%ZZ%\ud800", "\ud800|", "", "x")
@example("/%2e%2e/?page=%", None, None, None)
def test_any_text_has_a_class(
    url: str, title: str | None, link_text: str | None, language: str | None
) -> None:
    page = classify(url, title=title, link_text=link_text, language=language)

    assert 0 <= page.confidence <= 1
    assert page.priority == page.priority.__index__() > 0
    assert pick_pages([(url, page)]) in ([], [(url, page)])


@pytest.mark.parametrize(
    "piece",
    ["/contact", "-contact", "%CC%81", "\u0301\u0323", "&page=contact-x", "|contact ", "//"],
)
def test_what_is_looked_at_of_a_long_text_is_limited(piece: str) -> None:
    """Ten times the text, the same verdict: what lies beyond the limits costs next to nothing."""
    short, long = (f"{SITE}/?x=1{piece * times}" for times in (2_000, 20_000))

    assert classify(long, title=long).page_class is classify(short, title=short).page_class
