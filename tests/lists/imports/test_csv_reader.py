"""CSV files of many programs: delimiters, encodings, headers, and invalid files."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from scrapersky.domains.service import DOMAIN_IMPORT_KIND
from scrapersky.errors import InvalidInput
from scrapersky.lists.imports.csv_reader import ImportSubject
from scrapersky.lists.imports.rows import InputRow, read_csv_rows
from scrapersky.pages.service import PAGE_IMPORT_KIND
from scrapersky.sitemaps.service import SITEMAP_IMPORT_KIND

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"


def given(
    body: bytes | str, column: str | None = None, kind: ImportSubject = DOMAIN_IMPORT_KIND
) -> list[InputRow]:
    raw = body.encode() if isinstance(body, str) else body
    return list(read_csv_rows(io.BytesIO(raw), kind, column))


def texts(
    body: bytes | str, column: str | None = None, kind: ImportSubject = DOMAIN_IMPORT_KIND
) -> list[str]:
    return [each.text for each in given(body, column, kind)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_usual_delimiter_is_understood(delimiter: str) -> None:
    rows = [["Name", "Website", "Town"], ["Bakery, old; good", "bakery.example", "Ulm"]]
    body = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)

    assert texts(body) == ["bakery.example"]


def test_the_first_line_of_spreadsheets_that_names_the_delimiter_is_none_of_the_rows() -> None:
    assert given("sep=;\r\nName;Website\r\nBakery;bakery.example\r\n") == [
        InputRow(3, "bakery.example")
    ]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16", b""),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-32", b""),
        ("latin-1", b""),
        ("cp1252", b""),
    ],
)
def test_every_usual_encoding_is_understood(encoding: str, mark: bytes) -> None:
    body = mark + "Firma;Webseite\r\nBäckerei;müller.example\r\n".encode(encoding)

    assert texts(body) == ["müller.example"]


def test_a_letter_of_windows_far_down_in_a_file_of_plain_letters_is_still_read() -> None:
    body = b"website\n" + b"a.example\n" * 20_000 + "müller.example\n".encode("cp1252")

    assert texts(body)[-1] == "müller.example"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_one_and_a_missing_last_one_is_no_harm(end: str) -> None:
    assert given(end.join(["domain", "a.example", "", "b.example"])) == [
        InputRow(2, "a.example"),
        InputRow(4, "b.example"),
    ]


def test_a_quoted_cell_may_hold_line_ends_and_quotes() -> None:
    body = 'name,website\n"Baker\n""the old""\nUlm",a.example\nFlorist,b.example\n'

    assert given(body) == [InputRow(2, "a.example"), InputRow(5, "b.example")]


@pytest.mark.parametrize(
    "name",
    [
        "domain", "Domain Name", "WEBSITE", "website_url", "URL", "web", "Homepage", "Webseite",
        "Internetadresse", "site web", "Sitio Web", " Site-Web ", "Página web", "link", "www",
    ],
)  # fmt: skip
def test_the_names_people_give_the_column_of_domains(name: str) -> None:
    assert texts(f"Company,{name}\nBakery,bakery.example\n") == ["bakery.example"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (SITEMAP_IMPORT_KIND, "Sitemap URL"),
        (SITEMAP_IMPORT_KIND, "loc"),
        (PAGE_IMPORT_KIND, "Page"),
        (PAGE_IMPORT_KIND, "Link"),
    ],
)
def test_sitemaps_and_pages_have_names_of_their_own(kind: ImportSubject, name: str) -> None:
    assert texts(f"id;{name}\n1;https://a.example/x,y\n", kind=kind) == ["https://a.example/x,y"]


def test_of_several_columns_with_a_known_name_the_most_telling_is_read() -> None:
    assert texts("link,domain\nhttps://map.example/1,bakery.example\n") == ["bakery.example"]


def test_a_column_can_be_asked_for_by_its_name_or_number() -> None:
    body = "Firma;Netz\nBakery;bakery.example\n"

    assert texts(body, "netz") == ["bakery.example"]
    assert texts("Bakery;bakery.example\n", "2") == ["bakery.example"]
    with pytest.raises(InvalidInput, match=r"no column 'Web'. The file has the columns 'Firma', "):
        texts(body, "Web")


def test_one_column_without_header_is_read_from_its_first_line() -> None:
    assert texts("bakery.example\nhttps://florist.example/a,b;c|d\n") == [
        "bakery.example",
        "https://florist.example/a,b;c|d",
    ]


def test_a_bad_first_line_of_one_column_is_a_row_like_any_other() -> None:
    assert texts("two words\nbakery.example\n") == ["two words", "bakery.example"]


def test_without_header_the_column_that_holds_addresses_is_found() -> None:
    body = "Dr.Huber,12.03.2024,https://huber.example\nMeier,13.03.2024,meier.example\n"

    assert texts(body) == ["https://huber.example", "meier.example"]


def test_a_table_without_the_column_is_refused_with_what_it_has_and_what_is_accepted() -> None:
    with pytest.raises(InvalidInput) as refused:
        texts("Name,Town\nBakery,Ulm\n")

    assert "'Name', 'Town'" in str(refused.value)
    assert "domain, domains, domain name, website" in str(refused.value)


def test_a_delimiter_nobody_uses_is_told_by_what_was_seen() -> None:
    with pytest.raises(InvalidInput, match="'Name~Website', 'Town'"):
        texts("Name~Website,Town\nBakery~bakery.example,Ulm\n")


@pytest.mark.parametrize("body", [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\n" * 9_000])
def test_a_file_with_nothing_in_it_is_said_to_be_empty(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        given(body)


def test_a_header_alone_is_said_to_be_one() -> None:
    with pytest.raises(InvalidInput, match="a header but no rows"):
        given("domain,name\n")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (PNG, "a picture"),
        (b"PK\x03\x04\x14\x00", "Excel"),
        (b"%PDF-1.7", "PDF"),
        (bytes(range(1, 32)) * 40, "not text"),
        (b"\x00\x01\x02\x00" * 500, "not text"),
    ],
)
def test_what_is_no_text_is_refused_by_name(body: bytes, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        given(body)


def test_a_row_that_is_too_short_or_empty_where_it_matters_is_said_so() -> None:
    rows = given("name,town,website\nBakery,Ulm\nFlorist,Ulm,\nBarber,Ulm,barber.example\n")

    assert [each.error for each in rows] == [
        "The row has no column website.",
        "The column website is empty.",
        None,
    ]


def test_a_quotation_mark_that_is_never_closed_costs_its_own_row_only() -> None:
    many = [f"n{number},s{number}.example" for number in range(300)]
    for place in (0, 5, 299):
        body = ["name,website", *many]
        body[place + 1] = f'"n,s{place}.example'
        rows = given("\n".join(body))
        assert len(rows) == 300
        assert [each.line for each in rows if each.error] == [place + 2]


def test_a_cell_larger_than_any_address_costs_its_own_row_only() -> None:
    rows = given("name,website\n" + "x" * 200_000 + ",a.example\nFlorist,b.example\n")

    assert [(each.line, each.error is None) for each in rows] == [(2, False), (3, True)]


def columns(*rows: Sequence[str]) -> str:
    return "\n".join(";".join(row) for row in rows)


def test_cells_with_spaces_around_them_and_nul_stay_one_row_each() -> None:
    body = columns(["website", "x"], [" a.example ", "1"], ["b\x00.example", "2"])

    assert texts(body) == ["a.example ", "b\x00.example"]
