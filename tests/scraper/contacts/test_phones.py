"""Phone numbers: which are valid, and their country."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.contacts.phone_numbers import parse_phone, parse_tel_link
from scrapersky.scraper.contacts.phone_regions import guess_regions
from scrapersky.scraper.contacts.phones import find_phones


def values(text: str, *regions: str) -> list[str]:
    return [phone.value for phone in find_phones(text, regions=regions, limit=100).found]


@pytest.mark.parametrize(
    ("text", "region", "value"),
    [
        ("+49 (0) 30 2315 125", "DE", "+49302315125"),
        ("0049 30 2315125", "DE", "+49302315125"),
        ("030 / 23 15-125", "DE", "+49302315125"),
        ("(030) 23 15 12-0", "DE", "+49302315120"),
        ("Fon 0302315125", "DE", "+49302315125"),
        ("Notfallhandy: 01725550123", "DE", "+491725550123"),
        ("Telefon\n0302315125", "DE", "+49302315125"),
        ("T 030 2315125", "DE", "+49302315125"),
        ("☎ 0302315125", "DE", "+49302315125"),
        ("Tel./Fax: 030 2315125", "DE", "+49302315125"),
        ("+49\u00a030\u202f2315\u200b125", "DE", "+49302315125"),
        ("++49 30 2315125", "DE", "+49302315125"),
        ("Mo-Fr 08.00 - 18.00 030 2315125", "DE", "+49302315125"),
        ("+43 1 2315125 - 0", "AT", "+43123151250"),
        ("(202) 555-0147", "US", "+12025550147"),
        ("202.555.0147", "US", "+12025550147"),
        ("202-555-0147 ext. 12", "US", "+12025550147"),
        ("2025550147 x 12", "US", "+12025550147"),
        ("1-202-555-0147", "US", "+12025550147"),
        ("Call us at 2025550147", "US", "+12025550147"),
        ("011 44 20 7946 0123", "US", "+442079460123"),
        ("２０２-５５５-０１４７", "US", "+12025550147"),
        ("２０２５５５０１４７", "US", "+12025550147"),
        ("202-555-0147Email us", "US", "+12025550147"),
        ("open 24/7 202-555-0147", "US", "+12025550147"),
        ("联系电话是202-555-0147谢谢", "US", "+12025550147"),
        ("VA 22030 - 202-555-0147", "US", "+12025550147"),
        ("202-555-0147. 22030 is the code.", "US", "+12025550147"),
        ("01.99.00.12.34", "FR", "+33199001234"),
        ("01 / 99 / 00 / 12 / 34", "FR", "+33199001234"),
        ("Tél : ( 33 1) 99 00 12 34", "FR", "+33199001234"),
        ("020 7946 0123", "GB", "+442079460123"),
        ("Tlf. 32123456", "DK", "+4532123456"),
        ("32 12 34 56", "DK", "+4532123456"),
        ("601 234 567", "CZ", "+420601234567"),
        ("01 (55) 5123 4567", "MX", "+525551234567"),
        ("+52 1 55 5123 4567", "MX", "+525551234567"),
        ("+39 06 1234 5678", "IT", "+390612345678"),
        ("333 1234567", "IT", "+393331234567"),
        ("Mob: 98765 43210", "IN", "+919876543210"),
        ("(11) 98765-4321", "BR", "+5511987654321"),
        ("8 (495) 123-45-67", "RU", "+74951234567"),
        ("電話：03-1234-5678", "JP", "+81312345678"),
        ("1300 123 456", "AU", "+611300123456"),
        ("+351 (0) 21 123 4567", "PT", "+351211234567"),
        ("(11) 9 8765-4321", "BR", "+5511987654321"),
        ("0 800 123 456", "FR", "+33800123456"),
        ("01 99 00 12 34/35", "FR", "+33199001234"),
        ("91 1234567", "ES", "+34911234567"),
        ("(2) 2123 4567", "CL", "+56221234567"),
        ("8(495)1234567", "RU", "+74951234567"),
        ("((202) 555-0147", "US", "+12025550147"),
        ("(202) 5550147", "US", "+12025550147"),
        ("(202) 555 – 0147", "US", "+12025550147"),
        ("Phone # 202-555-0147", "US", "+12025550147"),
        ("Ph#2025550147", "US", "+12025550147"),
        ("Tel:202-555-0147Fax:202-555-0148", "US", "+12025550147"),
        ("Tel. 49 30 2315125", "DE", "+49302315125"),
        ("Κινητό: 6944123456", "GR", "+306944123456"),
        ("Tālr. 67034444", "LV", "+37167034444"),
        ("جوال: 0501234567", "SA", "+966501234567"),
        ("手机/微信：13800138000", "CN", "+8613800138000"),
    ],
)
def test_a_phone_number_in_text_is_found(text: str, region: str, value: str) -> None:
    assert values(text, region) == [value]


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("2025550147", "US"),
        ("1700000000", "DE"),
        ("24.12.2024", "DE"),
        ("2024-12-24 08:15", "US"),
        ("20241224 08:15", "DK"),
        ("2019-2024", "DK"),
        ("01.02.2024 - 05.03.2024", "DE"),
        ("USt-IdNr.: DE 123 456 789", "DE"),
        ("CHE-123.456.789", "CH"),
        ("CVR-nr. 32 12 34 56", "DK"),
        ("IČO: 601 234 567", "CZ"),
        ("SIRET 443 061 841 00039", "FR"),
        ("Steuernummer 030/123/45678", "DE"),
        ("Order 202-555-0147", "US"),
        ("Bestellnummer: 030 2315125", "DE"),
        ("INV-202-555-0147", "US"),
        ("Suite # 202-555-0147", "US"),
        ("N° agrément 01 99 00 12 34", "FR"),
        ("12 345 678", "DK"),
        ("IBAN DE89 3704 0044 0532 0130 00", "DE"),
        ("978-3-16-148410-0", "DE"),
        ("0-306-40615-2", "DE"),
        ("$202-555-0147", "US"),
        ("12.345.678 kr", "DK"),
        ("32 123 456,50", "DK"),
        ("601 000 000", "CZ"),
        ("202555014%", "US"),
        ("22030-1234", "US"),
        ("52.520008, 13.404954", "DE"),
        ("192.168.100.200", "US"),
        ("Version 10.0.19045.3570", "US"),
        ("202+555+0147", "US"),
        ("202x5550147", "US"),
        ("1 2 3 4 5 6 7 8 9 0", "US"),
        ("(000) 000-0000", "US"),
        ("4111 1111 1111 1111", "US"),
        ("Tel: 23 15 12", "DE"),
        ("Fax: 030 2315126", "DE"),
        ("Fax 030 2315126, 030 2315127", "DE"),
        ("F: +49 30 2315126", "DE"),
        ("Fax +49 (0) 30 / 2315126", "DE"),
    ],
)
def test_other_digits_are_no_phone_numbers(text: str, region: str) -> None:
    assert values(text, region) == []


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("030 2315125 oder 030 2315126", "DE", ["+49302315125", "+49302315126"]),
        ("Tel. 0302315125 / 0302315126", "DE", ["+49302315125", "+49302315126"]),
        ("202-555-0147 / 202-555-0148", "US", ["+12025550147", "+12025550148"]),
        ("202-555-0147 - 202-555-0148, 202-555-0149", "US", ["+1202555014" + d for d in "789"]),
        ("202-555-0147--202-555-0148", "US", ["+12025550147", "+12025550148"]),
        ("(202) 555-0147 (202) 555-0148", "US", ["+12025550147", "+12025550148"]),
        ("+420601234567 +420601234568", "CZ", ["+420601234567", "+420601234568"]),
        ("Phone 202-555-0147/0148", "US", ["+12025550147"]),
        ("T +49 30 2315125 F +49 30 2315126", "DE", ["+49302315125"]),
        ("030 2315125 - 10115 Berlin", "DE", ["+49302315125"]),
        ("030 2315125, 030 2315125", "DE", ["+49302315125"]),
    ],
)
def test_numbers_in_one_line_are_told_apart(text: str, region: str, expected: list[str]) -> None:
    assert values(text, region) == expected


def test_a_number_says_how_and_where_it_is_written() -> None:
    text = "Ring us: (202) 555-0147 ext. 5!"
    (phone,) = find_phones(text, regions=("US",), limit=5).found
    assert phone.raw == text[phone.start : phone.end] == "(202) 555-0147 ext. 5"


def test_digits_on_two_lines_are_not_one_number() -> None:
    assert values("202\n555\n0147", "US") == []


def test_the_first_region_in_which_a_number_is_complete_counts() -> None:
    assert values("030 2315125", "US", "DE") == ["+49302315125"]
    assert values("电话 202-555-0147", "CN", "US") == ["+12025550147"]


def test_without_regions_only_international_numbers_are_found() -> None:
    assert values("030 2315125, +1 202 555 0147") == ["+12025550147"]


def test_more_numbers_than_the_limit_are_said_to_be_more() -> None:
    text = ", ".join(f"+1 202 555 01{n:02}" for n in range(60))
    found = find_phones(text, regions=(), limit=50)
    assert (len(found.found), found.capped) == (50, True)
    assert not find_phones(text, regions=(), limit=60).capped


def test_a_table_of_digits_is_looked_at_only_in_part() -> None:
    found = find_phones("7 " * 500_000, regions=("US", "DE"), limit=100)
    assert found.capped
    assert found.found == ()


@pytest.mark.parametrize(
    ("href", "value"),
    [
        ("tel:+49302315125", "+49302315125"),
        ("TEL://+49302315125", "+49302315125"),
        ("tel:+49(0)30-2315125", "+49302315125"),
        ("tel:+490302315125", "+49302315125"),
        ("tel:%2B49%2030%202315125", "+49302315125"),
        ("tel:0049302315125", "+49302315125"),
        ("tel: 030/2315125", "+49302315125"),
        ("tel:+49\u200b30\u00ad2315125", "+49302315125"),
        ("callto:+49302315125", "+49302315125"),
        ("phone:/+49302315125", "+49302315125"),
        ("telephone:+49302315125", "+49302315125"),
        ("sms:+49302315125?body=Hello", "+49302315125"),
        ("tel:+1-202-555-0147;ext=12", "+12025550147"),
        ("tel:+12025550147,,12", "+12025550147"),
        ("tel:+1 202 555 0147 x12", "+12025550147"),
        ("tel:Tel. +49 30 2315125", "+49302315125"),
        ("tel:1-800-FLOWERS", "+18003569377"),
        ("tel:abc", None),
        ("tel:", None),
        ("tel:{{ phone }}", None),
        ("https://acme.test/+49302315125", None),
    ],
)
def test_a_tel_link_is_read_with_its_mistakes(href: str, value: str | None) -> None:
    assert [v for v, _ in parse_tel_link(href, ("DE",))] == ([value] if value else [])


@pytest.mark.parametrize(
    "href",
    [
        "tel:030 2315125 / 030 2315126",
        "tel:0302315125/0302315126",
        "tel:+49302315125,+49302315126",
        "tel:+49302315125+49302315126",
        "tel:030 2315125 oder 030 2315126",
    ],
)
def test_two_numbers_in_one_tel_link_are_two(href: str) -> None:
    assert [v for v, _ in parse_tel_link(href, ("DE",))] == ["+49302315125", "+49302315126"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2025550147", "+12025550147"),
        ("Phone: (202) 555-0147", "+12025550147"),
        ("+49 30 2315125", "+49302315125"),
        ("202-555-0147, 202-555-0148", "+12025550147"),
        ("n/a", None),
        ("555-0147", None),
        ("", None),
    ],
)
def test_the_value_of_a_phone_field_is_read(text: str, value: str | None) -> None:
    assert parse_phone(text, regions=("US",)) == value


@pytest.mark.parametrize(
    ("language", "url", "country", "default", "regions"),
    [
        ("de-AT", "https://acme.com/", None, None, ("AT", "DE")),
        ("de", "https://acme.com/", None, "US", ("DE", "US")),
        ("en", "https://acme.com/", None, "CZ", ("CZ", "US", "GB")),
        ("en_GB", "https://acme.com/", None, None, ("GB", "US")),
        ("zh-Hant-TW", "https://acme.com/", None, None, ("TW", "CN")),
        (None, "https://acme.co.uk/", None, None, ("GB",)),
        (None, "https://acme.io/", None, None, ()),
        (None, "https://acme.co/", None, None, ()),
        (None, "https://acme.com.co/", None, None, ("CO",)),
        (None, "https://acme.berlin:8080/x", None, None, ("DE",)),
        (None, "https://acme.com/", "Österreich", None, ("AT",)),
        (None, "https://acme.com/", "osterreich", None, ("AT",)),
        (None, "https://acme.com/", "USA", None, ("US",)),
        (None, "https://acme.com/", "uk", None, ("GB",)),
        ("fr", "https://acme.ch/", "Deutschland", "xx", ("DE", "CH", "FR")),
        ("", "http://[broken", "Atlantis", "", ()),
    ],
)
def test_regions_come_from_what_the_page_tells(
    language: str | None,
    url: str,
    country: str | None,
    default: str | None,
    regions: tuple[str, ...],
) -> None:
    assert guess_regions(language, url, country, default) == regions


@pytest.mark.parametrize(
    ("language", "default", "regions"),
    [
        ("fr", None, ("BE", "FR")),
        ("fr", "CA", ("BE", "FR", "CA")),
        ("en", "US", ("US", "BE", "GB")),
    ],
)
def test_a_country_named_in_the_text_tells_more_than_the_language(
    language: str, default: str | None, regions: tuple[str, ...]
) -> None:
    told = guess_regions(language, "https://acme.com/", None, default, named_region="BE")
    assert told == regions


@given(st.text(alphabet="0123456789 +-()/.,:xtelTF٣５\u200b\n%$€", max_size=200))
def test_no_text_breaks_the_search(text: str) -> None:
    for phone in find_phones(text, regions=("DE", "US"), limit=20).found:
        assert phone.raw == text[phone.start : phone.end]
    parse_tel_link("tel:" + text, ("DE", "US"))
    parse_phone(text, regions=("DE", "US"))


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.text(max_size=8))
def test_regions_are_told_from_any_text(a: str, b: str, c: str, d: str) -> None:
    assert all(len(region) == 2 for region in guess_regions(a, b, c, d))


def test_a_slash_within_one_number_does_not_make_it_two() -> None:
    assert parse_tel_link("tel:+49 (0)30 / 901 820", ("DE",)) == [
        ("+4930901820", "+49 (0)30 / 901 820")
    ]
    assert [value for value, _ in parse_tel_link("tel:030 901820 / 030 901821", ("DE",))] == [
        "+4930901820",
        "+4930901821",
    ]
