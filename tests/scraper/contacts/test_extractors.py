"""Contacts that a page publishes openly, and the method that found each."""

from __future__ import annotations

import base64

import pytest

from scrapersky.scraper.contacts.finder import find_contacts
from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod
from tests.scraper.contacts.finding import contacts, methods, only, values

OPEN = {
    "a mailto link": ('<a href="mailto:desk@northwind.de">Write</a>', ExtractionMethod.MAILTO),
    "a mailto link in capitals": (
        "<A HREF='MAILTO:Desk@Northwind.DE'>Write</A>",
        ExtractionMethod.MAILTO,
    ),
    "a mailto link in entities": (
        '<a href="&#109;ailto&#58;desk&#64;northwind.de">Write</a>',
        ExtractionMethod.MAILTO,
    ),
    "a link in a drawing": (
        '<svg><a xlink:href="mailto:desk@northwind.de"><text>Write</text></a></svg>',
        ExtractionMethod.MAILTO,
    ),
    "a sentence": ("<p>Write to desk@northwind.de, please.</p>", ExtractionMethod.TEXT),
    "entities": ("<p>desk&commat;northwind&#46;de</p>", ExtractionMethod.TEXT),
    "letters in different spans": ("<b>de</b><i>sk</i>@<u>north</u>wind.de", ExtractionMethod.TEXT),
    "invisible characters": ("de&shy;sk@north<wbr>wind&#8203;.de", ExtractionMethod.TEXT),
    "full-width signs": ("desk＠northwind．de", ExtractionMethod.TEXT),
    "a linked domain": (
        'desk@<a href="http://northwind.de">northwind.de</a>',
        ExtractionMethod.TEXT,
    ),
    "brackets nobody escaped": ("Desk <desk@northwind.de>", ExtractionMethod.TEXT),
    "a comment in the middle": ("desk@<!-- no robots -->northwind.de", ExtractionMethod.TEXT),
    "a noscript": ("<noscript>Mail desk@northwind.de</noscript>", ExtractionMethod.NOSCRIPT),
    "a data attribute": ('<b data-contact="desk@northwind.de">Us</b>', ExtractionMethod.ATTRIBUTE),
    "a title": ('<b title="Mail: desk@northwind.de">Us</b>', ExtractionMethod.ATTRIBUTE),
    "a meta tag": ('<meta name="reply-to" content="desk@northwind.de">', ExtractionMethod.META),
    "a click": (
        "<b onclick=\"location.href='mailto:desk@northwind.de'\">Us</b>",
        ExtractionMethod.ONCLICK,
    ),
    "a form's action": ('<form action="mailto:desk@northwind.de">', ExtractionMethod.FORM),
    "a form service": (
        '<form action="https://forms.example/desk@northwind.de">',
        ExtractionMethod.FORM,
    ),
    "a form's recipient": (
        '<input type="hidden" name="to" value="desk@northwind.de">',
        ExtractionMethod.ATTRIBUTE,
    ),
    "a page's own data": (
        '<script type="application/json">{"a":[{"mail":"desk@northwind.de"}]}</script>',
        ExtractionMethod.JSON,
    ),
    "markup in a page's own data": (
        '<script type="application/json">{"html":"<p>desk@northwind.de</p>"}</script>',
        ExtractionMethod.JSON,
    ),
    "a program's string": (
        '<script>var to = "desk@northwind.de";</script>',
        ExtractionMethod.SCRIPT,
    ),
    "markup in a program": (
        "<script>document.write('<b>desk@northwind.de</b>')</script>",
        ExtractionMethod.SCRIPT,
    ),
    "data in a program": (
        '<script>self.__next_f.push([1,"\\u003cp\\u003edesk@northwind.de\\u003c/p"])</script>',
        ExtractionMethod.JSON,
    ),
    "an escaped string": (
        '<script>s={"m":"desk\\u0040northwind.de"}</script>',
        ExtractionMethod.SCRIPT,
    ),
    "an escaped string of old": (
        "<script>w('\\x64esk\\x40northwind.de')</script>",
        ExtractionMethod.SCRIPT,
    ),
    "a framework's attribute": (
        "<div x-data=\"{ mail: 'desk@northwind.de' }\">x</div>",
        ExtractionMethod.ATTRIBUTE,
    ),
    "an island's properties": (
        '<astro-island props="{&quot;mail&quot;:&quot;desk@northwind.de&quot;}"></astro-island>',
        ExtractionMethod.ATTRIBUTE,
    ),
    "a shadow root": (
        '<template shadowrootmode="open"><p>desk@northwind.de</p></template>',
        ExtractionMethod.TEXT,
    ),
    "a frame that brings its page": (
        '<iframe srcdoc="&lt;script&gt;x@northwind.de&lt;/script&gt;desk@northwind.de"></iframe>',
        ExtractionMethod.TEXT,
    ),
    "two links around the sign": (
        '<a href="/desk">desk</a>@<a href="/">northwind.de</a>',
        ExtractionMethod.TEXT,
    ),
    "microdata": (
        "<div itemscope><span itemprop=email>desk@northwind.de</span></div>",
        ExtractionMethod.MICRODATA,
    ),
    "RDFa": (
        '<p typeof="schema:Person"><b property="schema:email">desk@northwind.de</b></p>',
        ExtractionMethod.RDFA,
    ),
    "an hCard": (
        '<div class="vcard"><b class="email">desk@northwind.de</b></div>',
        ExtractionMethod.HCARD,
    ),
    "JSON-LD": (
        '<script type="application/ld+json">{"email":"desk@northwind.de"}</script>',
        ExtractionMethod.JSON_LD,
    ),
    "JSON-LD with a value object": (
        '<script type="application/ld+json">{"email":[{"@value":"desk@northwind.de"}]}</script>',
        ExtractionMethod.JSON_LD,
    ),
}


@pytest.mark.parametrize(("page", "method"), OPEN.values(), ids=OPEN)
def test_an_address_is_found_in(page: str, method: ExtractionMethod) -> None:
    assert methods(page) == {"desk@northwind.de": method}


def test_a_mailto_link_may_have_many_recipients_and_mistakes() -> None:
    page = """
        <a href="mailto: a@northwind.de ">1</a> <a href="mailto://b@northwind.de">2</a>
        <a href="mailto:c@northwind.de,d@northwind.de;e@northwind.de?subject=x@y.de">3</a>
        <a href="mailto:Jo%20%3Cf@northwind.de%3E?cc=g@northwind.de&amp;body=h@northwind.de">4</a>
        <a href="mailto:i%40northwind.de">5</a> <a href="http://mailto:j@northwind.de">6</a>
        <a href="mailto:k%40northwind.de%3Fsubject%3Dx">7</a> <a href="mailto:l＠northwind.de">8</a>
        <a href="mailto:Jo Doe <m@northwind.de>">9</a>
    """
    assert values(page) == [f"{letter}@northwind.de" for letter in "abcdefgijklm"]


def test_neighbouring_words_do_not_become_part_of_an_address() -> None:
    page = (
        "6HT<a>a@northwind.de</a>Tel b@northwind.dePhone u003ec@northwind.de ...d@northwind.de "
        "030-231-5125e@northwind.de f@northwind.dewww.northwind.de "
        "g@northwind.de<script>document.write('2024')</script>"
    )
    assert values(page) == [f"{letter}@northwind.de" for letter in "abcdefg"]


def test_an_international_domain_is_given_as_it_is_asked_for() -> None:
    assert values("büro: hallo@bücher.de") == ["hallo@xn--bcher-kva.de"]


def test_the_page_s_own_domain_is_believed_whatever_it_ends_in() -> None:
    found = contacts("desk@intranet.corp and desk@other.corp", url="https://intranet.corp/")
    assert [contact.value for contact in found] == ["desk@intranet.corp"]


def test_broken_json_ld_is_read_as_far_as_it_goes() -> None:
    commented = '{ // who\n "email": "a@northwind.de", /* that */ }'
    cut = '{"@type": "Organization", "email": "b@northwind.de", "name": '
    page = "".join(f'<script type="application/ld+json">{t}</script>' for t in (commented, cut))
    assert values(page) == ["a@northwind.de", "b@northwind.de"]


@pytest.mark.parametrize("encoding", ["plain", "base64"])
def test_a_vcard_in_a_link_is_read(encoding: str) -> None:
    card = "BEGIN:VCARD\nFN:Jo Doe\nTITLE:Owner\nEMAIL;TYPE=work:jo@northwind.de\nEND:VCARD"
    data = base64.b64encode(card.encode()).decode() if encoding == "base64" else card
    head = "data:text/vcard;base64" if encoding == "base64" else "data:text/vcard"
    found = only(f'<a href="{head},{data.replace(chr(10), "%0A")}">Card</a>')
    assert (found.value, found.method) == ("jo@northwind.de", ExtractionMethod.VCARD)
    assert (found.name, found.role) == ("Jo Doe", "Owner")


PHONES = {
    "a tel link": ('<a href="tel:+49 30 1234567">Call</a>', ExtractionMethod.TEL),
    "a sentence": ("<p>Telefon: 030 1234567</p>", ExtractionMethod.TEXT),
    "a click": ("<b onclick=\"location='tel:+49301234567'\">Call</b>", ExtractionMethod.ONCLICK),
    "a data attribute": ('<b data-phone="030 1234567">Call</b>', ExtractionMethod.ATTRIBUTE),
    "a meta tag": (
        '<meta property="og:phone_number" content="030 1234567">',
        ExtractionMethod.META,
    ),
    "microdata": (
        '<div itemscope><meta itemprop="telephone" content="030 1234567"></div>',
        ExtractionMethod.MICRODATA,
    ),
    "JSON-LD": (
        '<script type="application/ld+json">{"telephone":"030 1234567"}</script>',
        ExtractionMethod.JSON_LD,
    ),
    "a page's own data": (
        '<script type="application/json">{"phone":"030 1234567"}</script>',
        ExtractionMethod.JSON,
    ),
    "data in a program": (
        "<script>window.__NUXT__={shop:{phone:'030 1234567'}}</script>",
        ExtractionMethod.JSON,
    ),
    "data within a string": (
        r'<script>window.__STATE__=JSON.parse("{\"phone\":\"030 1234567\"}")</script>',
        ExtractionMethod.JSON,
    ),
    "an h-card's data": (
        '<p class="h-card"><data class="p-tel" value="030 1234567">Call</data></p>',
        ExtractionMethod.HCARD,
    ),
    "an hCard's abbreviation": (
        '<p class="vcard"><abbr class="tel" title="030 1234567">Call</abbr></p>',
        ExtractionMethod.HCARD,
    ),
}


@pytest.mark.parametrize(("page", "method"), PHONES.values(), ids=PHONES)
def test_a_number_is_found_in(page: str, method: ExtractionMethod) -> None:
    assert methods(page) == {"+49301234567": method}


def test_a_stated_country_decides_how_national_numbers_are_read() -> None:
    page = '<script type="application/ld+json">{"address":{"addressCountry":"%s"},"telephone":"%s"}'
    assert values(page % ("AT", "01 5880040"), ContactChannel.PHONE) == ["+4315880040"]


@pytest.mark.parametrize(
    "address",
    ["Rue Haute 1<br>1000 Bruxelles<br>Belgique", "B-1000 Brussels", "1000 Brussel, België."],
)
def test_the_country_in_an_address_decides_where_nothing_else_does(address: str) -> None:
    page = f'<html lang="fr"><p>{address}</p><p>02 501 02 11</p>'
    found = find_contacts(page, url="https://northwind.com/")
    assert [contact.value for contact in found] == ["+3225010211"]


def test_countries_to_choose_from_decide_nothing() -> None:
    page = "<p>02 501 02 11</p><p>Belgium</p><p>Germany</p>"
    assert find_contacts(page, url="https://northwind.com/") == []


PROFILES = {
    "a link": ('<a href="https://m.facebook.com/northwind/">Us</a>', ExtractionMethod.LINK),
    "a link without a scheme": ('<a href="facebook.com/northwind">Us</a>', ExtractionMethod.LINK),
    "a link whose quote is missing": (
        '<a href="//fb.com/northwind>Us</a> <p>Us',
        ExtractionMethod.LINK,
    ),
    "a sentence": ("<p>Find us: www.facebook.com/northwind.</p>", ExtractionMethod.TEXT),
    "sameAs": (
        '<script type="application/ld+json">{"sameAs":["https://facebook.com/northwind"]}</script>',
        ExtractionMethod.SAME_AS,
    ),
    "a meta tag": (
        '<meta property="article:publisher" content="https://facebook.com/northwind">',
        ExtractionMethod.META,
    ),
    "a page's own data": (
        '<script type="application/json">{"u":"https://facebook.com/northwind"}</script>',
        ExtractionMethod.JSON,
    ),
    "data in a program": (
        '<script>window.__DATA__={u:"https:\\/\\/facebook.com\\/northwind"}</script>',
        ExtractionMethod.JSON,
    ),
}


@pytest.mark.parametrize(("page", "method"), PROFILES.values(), ids=PROFILES)
def test_a_profile_is_found_in(page: str, method: ExtractionMethod) -> None:
    assert methods(page) == {"https://www.facebook.com/northwind": method}


def test_the_site_s_name_on_x_is_its_profile() -> None:
    page = '<meta name="twitter:site" content="@northwind">'
    assert values(page, ContactChannel.SOCIAL) == ["https://x.com/northwind"]
