"""Pages in every encoding, and pages that declare the wrong one."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.html.charset import DecodedPage, decode_page
from scrapersky.scraper.html.facts import read_page

GERMAN = "<p>Bäckerei Größe</p>"
META = '<meta charset="{}">'


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "text"),
    [
        (GERMAN.encode(), None, "utf-8", GERMAN),
        (GERMAN.encode(), "text/html; charset=ISO-8859-1", "utf-8", GERMAN),
        (codecs.BOM_UTF8 + GERMAN.encode(), "text/html; charset=latin1", "utf-8", GERMAN),
        (GERMAN.encode("cp1252"), None, "windows-1252", GERMAN),
        (GERMAN.encode("cp1252"), "text/html; charset=utf-8", "windows-1252", GERMAN),
        ("„€“".encode("cp1252"), "text/html; charset=iso-8859-1", "windows-1252", "„€“"),
        ("Łódź".encode("iso8859-2"), "text/html; Charset='ISO-8859-2'", "iso-8859-2", "Łódź"),
        ("Хлеб".encode("cp1251"), "text/html;charset=windows-1251", "windows-1251", "Хлеб"),
        ("Хлеб".encode("koi8-r"), "text/html; charset=KOI8-R", "koi8-r", "Хлеб"),
        ("面包店".encode("gb2312"), "text/html; charset=gb2312", "gb18030", "面包店"),
        ("パン屋".encode("shift_jis"), "text/html; charset=x-sjis", "cp932", "パン屋"),
        ("パン屋".encode("iso2022_jp"), "text/html; charset=iso-2022-jp", "iso2022-jp", "パン屋"),
        ("빵집".encode("euc_kr"), "text/html; charset=ks_c_5601-1987", "cp949", "빵집"),
        ("ışık".encode("cp1254"), "text/html; charset=iso-8859-9", "windows-1254", "ışık"),
        (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), None, "utf-16-le", GERMAN),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), None, "utf-16-be", GERMAN),
        (GERMAN.encode("utf-16-le"), "text/html; charset=utf-8", "utf-16-le", GERMAN),
        (GERMAN.encode("utf-16-be"), None, "utf-16-be", GERMAN),
        (b"", None, "utf-8", ""),
    ],
)
def test_a_page_is_read_as_what_it_is(
    body: bytes, content_type: str | None, charset: str, text: str
) -> None:
    assert decode_page(body, content_type) == DecodedPage(text, charset)


def test_the_pages_own_meta_counts_when_the_header_is_silent() -> None:
    html = META.format("windows-1251") + "Хлеб"

    assert decode_page(html.encode("cp1251"), "text/html") == DecodedPage(html, "windows-1251")


def test_the_header_goes_before_the_meta_when_both_fit() -> None:
    html = META.format("windows-1251") + "Łódź"

    assert decode_page(html.encode("iso8859-2"), "text/html; charset=iso-8859-2").text == html


def test_a_header_that_does_not_fit_gives_way_to_the_meta() -> None:
    html = META.format("iso-8859-2") + "Łódź end"

    assert decode_page(html.encode("iso8859-2"), "text/html; charset=euc-jp").text == html


def test_old_meta_tags_are_understood() -> None:
    html = '<META http-equiv=Content-Type content="text/html; charset=koi8-r">Хлеб'

    assert decode_page(html.encode("koi8-r")).text == html


@pytest.mark.parametrize(
    "name", ["utf-16", "utf-7", "rot13", "base64", "unicode_escape", "idna", "undefined", "x-none"]
)
def test_encodings_that_are_none_of_the_web_are_not_believed(name: str) -> None:
    html = META.format(name) + r"Größe \u0041 +AOk-"

    assert decode_page(html.encode(), f"text/html; charset={name}") == DecodedPage(html, "utf-8")


def test_a_few_wrong_bytes_in_utf8_are_replaced_and_told() -> None:
    body = "Brötchen ".encode() * 50 + b"\xff\xe4" + b" end"

    page = decode_page(body, "text/html; charset=utf-8")

    assert (page.charset, page.lossy, page.text.count("\ufffd")) == ("utf-8", True, 2)


def test_wrong_bytes_in_a_named_encoding_are_replaced_and_told() -> None:
    page = decode_page("面包".encode("gb18030") + b"\xff\xff", "text/html; charset=gbk")

    assert (page.charset, page.lossy, page.text[:2]) == ("gb18030", True, "面包")


def test_a_character_cut_off_at_the_end_is_no_loss() -> None:
    assert decode_page("Brötchen für alle ü".encode()[:-1]) == DecodedPage(
        "Brötchen für alle ", "utf-8"
    )


def test_facts_say_which_charset_was_used() -> None:
    facts = read_page(
        "<title>Größe</title>".encode("cp1252"),
        url="https://bakery.example/",
        headers={"content-type": "text/html; charset=utf-8"},
    )

    assert (facts.title, facts.charset, facts.lossy) == ("Größe", "windows-1252", False)


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=40)))
def test_no_bytes_break_it(body: bytes, content_type: str | None) -> None:
    page = decode_page(body, content_type)

    assert page.text.encode("utf-8", "surrogatepass") is not None


@given(st.text(max_size=60), st.sampled_from(["utf-8", "utf-16-le", "cp1251", "euc_jp", "big5"]))
def test_every_declared_encoding_is_survived(text: str, charset: str) -> None:
    body = (META.format(charset) + text).encode(charset, "replace")

    assert isinstance(decode_page(body, f"text/html; charset={charset}").text, str)
