"""Values that people type are normalised."""

from __future__ import annotations

import pytest

from scrapersky.contacts import values
from scrapersky.errors import InvalidInput
from scrapersky.models import ContactKind, SuppressionKind

SITE = "backhaus-berger.de"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (ContactKind.EMAIL, " Anna.Berger@Backhaus-Berger.DE ", "anna.berger@backhaus-berger.de"),
        (ContactKind.EMAIL, "mailto:info@bücher.de", "info@xn--bcher-kva.de"),
        (ContactKind.EMAIL, "<anna@gmx.de>", "anna@gmx.de"),
        (ContactKind.PHONE, "+49 (0)30 / 901 820", "+4930901820"),
        (ContactKind.PHONE, "030 901820", "+4930901820"),
        (ContactKind.PHONE, "tel:+43 1 51450", "+43151450"),
        (
            ContactKind.SOCIAL,
            "http://m.facebook.com/Backhaus.Berger/",
            "https://www.facebook.com/backhaus.berger",
        ),
    ],
)
def test_a_contact_is_spelled_as_one_from_a_page(
    kind: ContactKind, text: str, expected: str
) -> None:
    assert values.parse_contact_value(kind, text, site=SITE) == expected


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        (ContactKind.EMAIL, "anna", "not an e-mail address"),
        (ContactKind.EMAIL, "anna@", "not an e-mail address"),
        (ContactKind.EMAIL, "an na@gmx.de", "not an e-mail address"),
        (ContactKind.EMAIL, "anna..berger@gmx.de", "not an e-mail address"),
        (ContactKind.EMAIL, f"{'a' * 80}@gmx.de", "not an e-mail address"),
        (ContactKind.EMAIL, "logo@2x.png", "cannot receive mail"),
        (ContactKind.EMAIL, "your.name@gmx.de", "cannot receive mail"),
        (ContactKind.PHONE, "123", "Include the country code"),
        (ContactKind.PHONE, "+49 30 901820, +49 30 901821", "more than one"),
        (ContactKind.SOCIAL, "https://example.org/us", "not a profile"),
        (ContactKind.SOCIAL, "https://facebook.com/sharer/sharer.php?u=x", "not a profile"),
    ],
)
def test_what_cannot_be_one_is_told_so(kind: ContactKind, text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        values.parse_contact_value(kind, text, site=SITE)


def test_a_number_without_country_needs_a_site_that_tells_it() -> None:
    with pytest.raises(InvalidInput, match="Include the country code"):
        values.parse_contact_value(ContactKind.PHONE, "030 901820", site="backhaus-berger.com")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Anna@Acme.com", SuppressionKind.EMAIL, "anna@acme.com"),
        ("@acme.com", SuppressionKind.DOMAIN, "acme.com"),
        ("*@Acme.com", SuppressionKind.DOMAIN, "acme.com"),
        ("https://www.acme.com/team", SuppressionKind.DOMAIN, "acme.com"),
        ("+49 30 901820", SuppressionKind.PHONE, "+4930901820"),
        ("0049 30 901820", SuppressionKind.PHONE, "+4930901820"),
    ],
)
def test_a_line_of_a_list_tells_what_it_is(text: str, kind: SuppressionKind, value: str) -> None:
    found = values.guess_suppression_kind(text)

    assert (found, values.parse_suppressed_value(found, text)) == (kind, value)


@pytest.mark.parametrize(
    "text", ["", "hello", "two words", "co.uk", "a@b", "030 901820", "127.0.0.1"]
)
def test_nonsense_is_suppressed_by_nobody(text: str) -> None:
    with pytest.raises(InvalidInput):
        values.parse_suppressed_value(values.guess_suppression_kind(text), text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("anna@gmx.de", ContactKind.EMAIL),
        ("+49 30 901820", ContactKind.PHONE),
        ("https://www.tiktok.com/@backhaus", ContactKind.SOCIAL),
    ],
)
def test_what_is_typed_tells_its_kind(text: str, kind: ContactKind) -> None:
    assert values.guess_contact_kind(text) is kind
