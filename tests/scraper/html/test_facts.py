"""Facts that a page states about itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from scrapersky.scraper import Response
from scrapersky.scraper.html.facts import read_page
from scrapersky.scraper.html.model import FormKind, OpenGraph, PageFacts, PageForm, PageLink

URL = "https://bakery.example/shop/"


def read(html: str, **more: Any) -> PageFacts:
    return read_page(html, **{"url": URL, **more})


def test_title_heading_and_description_are_cleaned_of_layout() -> None:
    facts = read(
        "<svg><title>Arrow</title></svg><title> Bread\n &amp;  rolls\u200b </title>"
        '<meta name="Description" content="  Baked \t today ">'
        "<h1> </h1><h1>Our <b>bread</b></h1><h1>Rolls</h1>"
    )

    assert (facts.title, facts.description) == ("Bread & rolls", "Baked today")
    assert facts.h1 == "Our bread"


def test_a_heading_may_be_a_picture() -> None:
    assert read('<h1><img src="a.png" alt="Miller"></h1>').h1 == "Miller"


def test_a_page_that_says_nothing_has_no_facts() -> None:
    assert read("<p>Bread and rolls</p>") == PageFacts(url=URL, word_count=3)


def test_the_canonical_address_is_absolute() -> None:
    assert read('<link rel="canonical" href="../a#b">').canonical == "https://bakery.example/a"
    assert read('<link rel="canonical" href="javascript:x">').canonical is None
    assert read('<link rel="canonical" href="">').canonical is None


@pytest.mark.parametrize(
    ("html", "headers", "noindex", "nofollow"),
    [
        ('<meta name="robots" content="NOINDEX, follow">', {}, True, False),
        ('<meta name="googlebot" content="nofollow">', {}, False, True),
        ('<meta name="robots" content="none">', {}, True, True),
        ("", {"x-robots-tag": "noindex"}, True, False),
        ("", {"X-Robots-Tag": "googlebot: nofollow, otherbot: noindex"}, False, True),
        ("", {"X-Robots-Tag": "otherbot: noindex, nofollow"}, False, False),
        ('<meta name="robots" content="index, max-snippet:-1">', {}, False, False),
        ("", {}, False, False),
    ],
)
def test_robots_are_told_by_meta_and_header(
    html: str, headers: dict[str, str], noindex: bool, nofollow: bool
) -> None:
    robots = read(html, headers=headers).robots

    assert (robots.noindex, robots.nofollow) == (noindex, nofollow)


def test_every_robots_header_counts() -> None:
    headers = CIMultiDict([("X-Robots-Tag", "noarchive"), ("x-robots-tag", "nofollow")])
    response = Response(URL, URL, 200, headers, b"<p>x")

    assert read_page(response).robots.directives == ("noarchive", "nofollow")


@pytest.mark.parametrize(
    ("html", "headers", "expected"),
    [
        ('<html lang="de">', {}, "de"),
        ('<html lang="DE_at">', {}, "de-AT"),
        ('<html lang="zh-Hans-CN">', {}, "zh-CN"),
        ('<html lang="es-419">', {}, "es-419"),
        ('<html lang=""><meta http-equiv="content-language" content="fr, en">', {}, "fr"),
        ("<html>", {"Content-Language": "it"}, "it"),
        ('<meta property="og:locale" content="pt_BR">', {}, "pt-BR"),
        ('<html lang="german">', {}, None),
        ('<html lang="{{ locale }}">', {}, None),
        ("<html>", {}, None),
    ],
)
def test_the_language_is_what_the_page_states(
    html: str, headers: dict[str, str], expected: str | None
) -> None:
    assert read(html, headers=headers).language == expected


def test_schema_types_come_from_json_microdata_and_rdfa_each_once() -> None:
    facts = read(
        '<script type="application/ld+json"><!-- {"@graph": [{"@type": "WebSite"}, '
        '{"@type": ["Bakery", "http://schema.org/Store"]}]} --></script>'
        '<div itemscope itemtype="https://schema.org/Bakery"></div>'
        '<div typeof="schema:Person"></div>'
        '<script type="application/ld+json">{broken</script>'
    )

    assert facts.schema_types == ("WebSite", "Bakery", "Store", "Person")


def test_schema_types_are_capped() -> None:
    html = "".join(f'<i itemtype="https://schema.org/T{number}"></i>' for number in range(200))

    assert len(read(html).schema_types) == 50


def test_words_are_those_a_person_sees() -> None:
    facts = read(
        "<title>no</title><style>no no</style><p>one<b>two</b></p><script>no</script>"
        "<noscript>no no</noscript><template>no</template><div>three<br>four</div><!-- no -->"
    )

    assert facts.word_count == 4


def test_links_are_absolute_named_and_told_apart() -> None:
    facts = read(
        '<base href="/de/"><nav><a href="contact" rel="NoFollow me">Contact <b>us</b></a></nav>'
        '<a href="https://www.bakery.example/x#y"><img alt="Picture"></a>'
        '<a href="//mill.example/b" title="Mill"></a>'
        '<footer><a href="/imprint">Imprint</a></footer>'
        '<a href="#top">no</a><a href="mailto:a@b.example">no</a><a href="tel:1">no</a><a>no</a>'
        '<a href="javascript:x()">no</a><a href="http://[">no</a><a href="">no</a>'
    )

    assert facts.links == (
        PageLink(
            "https://bakery.example/de/contact",
            "Contact us",
            rel=("nofollow", "me"),
            in_nav=True,
            same_site=True,
        ),
        PageLink("https://www.bakery.example/x", "Picture", same_site=True),
        PageLink("https://mill.example/b", "Mill"),
        PageLink("https://bakery.example/imprint", "Imprint", in_footer=True, same_site=True),
    )


def test_a_target_is_listed_once_with_its_first_words() -> None:
    facts = read('<a href="/a"><i></i></a><a href="/a">Bread</a><a href="/a">Rolls</a>')

    assert [(link.url, link.text) for link in facts.links] == [
        ("https://bakery.example/a", "Bread")
    ]


def test_links_are_capped_and_the_cap_is_told() -> None:
    facts = read("".join(f'<a href="/{number}">x</a>' for number in range(2_001)))

    assert (len(facts.links), facts.links_cut) == (2_000, True)
    assert not read('<a href="/">x</a>').links_cut


def test_open_graph_is_told() -> None:
    facts = read(
        '<meta property="og:title" content="Bread"><meta property="og:image" content="/b.png">'
        '<meta property="og:site_name" content="Bakery"><meta property="og:type" content="website">'
        '<meta property="og:description" content="Fresh"><meta property="og:url" content="/">'
    )

    assert facts.open_graph == OpenGraph(
        title="Bread",
        description="Fresh",
        site_name="Bakery",
        type="website",
        url="https://bakery.example/",
        image="https://bakery.example/b.png",
    )
    assert facts.description == "Fresh"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0; url=/new", "https://bakery.example/new"),
        ("3;URL='https://mill.example/'", "https://mill.example/"),
        ("600; url=/new", None),
        ("5", None),
        ("0; url=https://bakery.example/shop/", None),
    ],
)
def test_a_refresh_that_sends_people_away_is_told(content: str, expected: str | None) -> None:
    html = f'<meta http-equiv="refresh" content="{content}">'

    assert read(html).refresh_url == expected


CONTACT = '<input type="email" name="e"><textarea name="message"></textarea>'


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (f"<form>{CONTACT}</form>", FormKind.CONTACT),
        ('<form><input name="your-email"><textarea></textarea></form>', FormKind.CONTACT),
        ('<form><input placeholder="E-Mail"><textarea></textarea></form>', FormKind.CONTACT),
        ('<form><input name="comments_mail"><textarea name="comments">', FormKind.CONTACT),
        ('<form><input type="text"><textarea></textarea></form>', FormKind.OTHER),
        ("<form><textarea></textarea></form>", FormKind.OTHER),
        ('<form role="search"><input name="q"></form>', FormKind.SEARCH),
        ('<form action="/suche"><input type="text"></form>', FormKind.SEARCH),
        ('<form><input name="user"><input type="password"></form>', FormKind.LOGIN),
        (f'<form><input type="password">{CONTACT}</form>', FormKind.LOGIN),
        ('<form><input type="email"></form>', FormKind.NEWSLETTER),
        ('<form id="commentform"><input type="email"><textarea name="comment">', FormKind.COMMENT),
        (f'<form action="/product/review">{CONTACT}</form>', FormKind.COMMENT),
        (f'<form action="/checkout/">{CONTACT}</form>', FormKind.CHECKOUT),
        ('<form class="variations_form cart"><select></select></form>', FormKind.CHECKOUT),
        ('<form action="/cart/add"><input type="hidden" name="id"></form>', FormKind.CHECKOUT),
        ("<form></form>", FormKind.OTHER),
    ],
)
def test_a_form_is_known_by_its_fields_and_names(form: str, kind: FormKind) -> None:
    facts = read(form)

    assert [each.kind for each in facts.forms] == [kind]
    assert facts.has_contact_form is (kind is FormKind.CONTACT)


@pytest.mark.parametrize(
    "name",
    [
        *("contact-form", "kontaktformular", "formulaire-contact", "contacto", "modulo-contatti"),
        *("formulario-contato", "contactformulier", "formularz-kontaktowy", "kontakta-oss"),
        *("kontakt-os", "kontaktni-formular", "iletisim-formu"),
    ],
)
def test_a_contact_form_is_named_so_in_many_languages(name: str) -> None:
    facts = read(
        f'<form class="{name}" action="/send"><input name="n"><textarea></textarea></form>'
    )

    assert facts.forms == (PageForm(FormKind.CONTACT, "https://bakery.example/send"),)


def test_an_answer_brings_its_own_address_and_says_what_is_missing() -> None:
    response = Response(
        "http://bakery.example/", URL, 200, {}, b'<a href="x">x</a>', truncated="It broke off."
    )

    facts = read_page(response)

    assert (facts.url, facts.cut) == (URL, "It broke off.")
    assert facts.links[0].url == "https://bakery.example/shop/x"


def test_only_the_beginning_of_an_endless_page_is_read() -> None:
    facts = read("<h1>Bread</h1>" + "x " * 2_000_000 + '<a href="/end">')

    assert (facts.h1, facts.links) == ("Bread", ())
    assert facts.cut == "Only the first 2,097,152 bytes were read."


@pytest.mark.parametrize("url", ["", "bakery", "ftp://bakery.example/", "http://["])
def test_an_address_that_is_none_makes_no_links(url: str) -> None:
    assert read('<a href="/a">x</a><a href="b">y</a>', url=url).links == ()


PIECES = st.sampled_from(
    [
        *("<a href=", "<form ", "<input type=email name=", "<textarea>", "<meta name=robots "),
        *("content=", "<base href=", "<link rel=canonical href=", "<html lang=", "<title>", "</"),
        *('"', "'", ">", "<", "=", "//[", "http://", "#", "\x00", "\ud800", "&#0;", "ß", "<svg>"),
        *("<table>", "<select><option>", "<template>", "<!--", "refresh", "0;url=", "itemtype="),
    ]
)


@given(
    st.one_of(st.binary(max_size=300), st.text(max_size=200), st.lists(PIECES).map("".join)),
    st.sampled_from([URL, "", "http://[", "https://bakery.example"]),
    st.dictionaries(st.sampled_from(["Content-Type", "X-Robots-Tag"]), st.text(max_size=30)),
)
def test_no_page_breaks_it(page: bytes | str, url: str, headers: dict[str, str]) -> None:
    facts = read_page(page, url=url, headers=headers)

    assert all(link.url.startswith(("http://", "https://")) for link in facts.links)
    # Whatever was found can be stored as UTF-8 text without NUL.
    assert "\0" not in f"{facts.title}{facts.h1}{facts.links}".encode().decode()
