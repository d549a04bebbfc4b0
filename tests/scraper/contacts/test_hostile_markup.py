"""Markup designed to keep a parser busy is read up to a limit, and the limit is reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.contacts.extractors import MAX_RECIPIENTS
from scrapersky.scraper.contacts.finder import MAX_CONTACTS, find_contacts, read_contacts
from scrapersky.scraper.contacts.model import ContactSearchResult

BIG = 400_000


def read(page: str) -> ContactSearchResult:
    return read_contacts(page, url="https://northwind.de/")


def ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


CAPPED = {
    "a hundred thousand addresses": ("a%d@b.de ", "at_signs"),
    "a hundred thousand numbers": ("030 %07d\n", "phones"),
    "thousands of mailto links": ('<a href="mailto:a%d@b.de">x</a>', "recipients"),
    "thousands of call links": ('<a href="tel:+4930%07d">x</a>', "phones"),
    "thousands of profiles": ('<a href="https://facebook.com/northwind%d">x</a>', "profiles"),
    "thousands of encoded addresses": ('<b data-user="a%d" data-domain="b.de">x</b>', "decoded"),
    "thousands of scripts": ("<script>a%d = 1</script>", "scripts"),
    "thousands of marks": ("<b itemprop=email>a%d</b>", "marks"),
    "text without an end": ("word%d ", "text"),
}


@pytest.mark.parametrize(("part", "reason"), CAPPED.values(), ids=CAPPED)
def test_a_limit_is_told_for(part: str, reason: str) -> None:
    count = BIG // len(part)
    found = read("".join(part % number for number in range(count)))
    assert reason in found.capped
    assert len(found.contacts) <= MAX_CONTACTS


def test_a_mailto_link_with_five_hundred_recipients_is_read_whole() -> None:
    people = ",".join(f"a{number}@b.de" for number in range(500))
    found = read(f'<a href="mailto:{people}">All</a>')
    assert (len(found.contacts), found.capped) == (500, ())


def test_recipients_beyond_the_limit_are_told() -> None:
    people = ",".join(f"a{number}@b.de" for number in range(MAX_RECIPIENTS + 1))
    assert "recipients" in read(f'<a href="mailto:{people}">All</a>').capped


def test_a_page_beyond_the_limit_is_read_to_it() -> None:
    found = read("first@northwind.de" + " " * 1_600_000 + "last@northwind.de")
    assert [contact.value for contact in found.contacts] == ["first@northwind.de"]
    assert "page_characters" in found.capped


def test_an_ordinary_page_meets_no_limit() -> None:
    assert read("<p>desk@northwind.de, 030 1234567</p>").capped == ()


EMPTY_HANDED = {
    "one long word": "a" * BIG,
    "nothing but signs": "@" * 200_000,
    "labels without an end": "x." + "a." * (BIG // 2) + "@",
    "a domain without an end": "a@" + "a-" * (BIG // 2),
    "a hundred thousand nested elements": "<div>" * 100_000,
    "as many closed again": "<div>" * 50_000 + "</div>" * 50_000,
    "formatting never closed": "".join(f"<b id={n}><p>" for n in range(20_000)),
    "one tag with fifty thousand attributes": "<a " + " ".join(f"a{n}=1" for n in range(50_000)),
    "quotes never closed": '<a href="' * (BIG // 9),
    "tags never ended": "<a " * (BIG // 3),
    "comments never ended": "<!--" * (BIG // 4),
    "scripts never ended": "<script>" * (BIG // 8),
    "objects without an end": ld('{"a":' * (BIG // 5)),
    "lists without an end": ld("[" * BIG),
    "quotes in data": ld('"' * BIG),
    "brackets": "(" * BIG,
    "spelled out signs": "(at)" * (BIG // 4),
    "entities": "&#64;" * (BIG // 5),
    "invisible characters": "\u200b" * BIG,
    "items within items": "<div itemscope><b itemprop=email>" * (BIG // 33),
    "signs with gaps between": ("a (at) " + " " * 300) * (BIG // 307),
    "functions that build nothing": "<script>" + "function f(a,b){'@'}" * (BIG // 20),
    "frames within frames": '<iframe srcdoc="' + "&lt;iframe srcdoc=" * (BIG // 18) + '">',
    "lists in a script": "<script>@" + "a=['b','c'];a[0];" * (BIG // 17) + "</script>",
    "strings in a script": "<script>@" + "'a'+" * (BIG // 4) + "</script>",
    "calls in a script": "<script>@" + "['a'," * (BIG // 5) + "</script>",
}


@pytest.mark.parametrize("page", EMPTY_HANDED.values(), ids=EMPTY_HANDED)
def test_nothing_is_found_in(page: str) -> None:
    assert read(page).contacts == ()


PIECES = """
    < > </ <a <!-- --> <script> </script> <style> </p> " ' = & &#64; @ . .. : ; / \\ ( ) [ ] { }
    + %40 % \\u mailto: tel: href=" data-mail=" data-user="a" data-domain="b.de" onclick=" at dot
    data-cfemail="2a4b (at) [dot] a@b.de jo.doe@northwind.de 030 1234567 +49 itemprop=email
    itemscope class=vcard class=tel application/ld+json {"email": unescape( fromCharCode( 'a'+
    .join( BEGIN:VCARD uncryptmailto(' spamspan facebook.com/a rtl rot13 eval(var x=" ü
"""
ODD = ["\u200b", "\ud800", "\x00", "\x1f", "\u0130", "ǅ"]
TEXTS = st.one_of(st.sampled_from([*PIECES.split(), *ODD]), st.text(max_size=8))


@given(st.lists(TEXTS, max_size=40), st.sampled_from(["", " ", "\n"]))
def test_no_text_makes_it_fail(pieces: list[str], between: str) -> None:
    for found in find_contacts(between.join(pieces), url="https://northwind.de/"):
        assert found.value
        assert 0 <= found.confidence <= 1
        assert len(found.snippet) <= 200


@given(st.text(max_size=30))
def test_no_url_makes_it_fail(url: str) -> None:
    assert len(find_contacts("desk@northwind.de", url=url)) == 1


def test_the_same_page_gives_the_same_contacts_in_the_same_order() -> None:
    page = "".join(
        f'<a href="mailto:a{n}@b.de">x</a> c{n}@d.de 030 12345{n:02d}' for n in range(50)
    )
    assert read(page) == read(page)
