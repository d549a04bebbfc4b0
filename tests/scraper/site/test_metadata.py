"""Metadata of a home page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper import Response
from scrapersky.scraper.http.urls import get_registrable_site
from scrapersky.scraper.site.metadata import read_site
from scrapersky.scraper.site.model import Organisation, SiteAddress, SiteMetadata
from tests.scraper.site.pages import HOME, answer, page


def json_ld(*values: Any) -> str:
    return "".join(
        f'<script type="application/ld+json">{json.dumps(value)}</script>' for value in values
    )


def read(body: str = "", head: str = "") -> SiteMetadata:
    return read_site(answer(page(body, head)))


def organisation(*values: Any) -> Organisation:
    found = read(head=json_ld(*values)).organisation
    assert found is not None
    return found


def test_a_wordpress_site_with_elementor_and_a_shop() -> None:
    metadata = read(
        head='<title>Bread</title><meta name="description" content="Fresh every day">'
        '<meta name="generator" content="WordPress 6.5.2">'
        '<meta name="generator" content="Elementor 3.21.5; features: x">'
        '<script src="/wp-content/plugins/woocommerce/a.js?ver=8.8.3"></script>'
    )

    assert (metadata.title, metadata.description) == ("Bread", "Fresh every day")
    assert (metadata.cms, metadata.cms_version) == ("WordPress", "6.5.2")
    assert (metadata.is_wordpress, metadata.wordpress_version) == (True, "6.5.2")
    assert (metadata.has_elementor, metadata.elementor_version) == (True, "3.21.5")
    assert (metadata.shop_system, metadata.site_builder) == ("WooCommerce", None)


def test_a_builder_and_a_shop_system_are_what_pages_are_made_with() -> None:
    wix = read(head='<meta name="generator" content="Wix.com Website Builder">')
    shop = read(head="<script>Shopify.theme = {}</script>")

    assert (wix.cms, wix.site_builder, wix.shop_system) == ("Wix", "Wix", None)
    assert (shop.cms, shop.site_builder, shop.shop_system) == ("Shopify",) * 3


def test_the_system_that_names_itself_goes_before_traces_of_another() -> None:
    metadata = read(
        '<img src="https://old.example/wp-content/uploads/a.jpg">',
        '<meta name="generator" content="TYPO3 CMS">',
    )

    assert metadata.cms == "TYPO3"
    assert metadata.is_wordpress


def test_a_plain_page_has_no_system_and_nothing_invented() -> None:
    metadata = read()

    assert metadata == SiteMetadata(
        url=HOME,
        state=metadata.state,
        reason=metadata.reason,
        final_url=HOME,
        status_code=200,
        charset="utf-8",
    )


def test_headers_and_cookies_tell_what_serves_the_site() -> None:
    headers = {"Server": "nginx/1.24.0", "X-Powered-By": "PHP/8.2.1", "Set-Cookie": "JTLSHOP=1"}

    metadata = read_site(answer(page(), headers=headers))

    found = {each.name: each.version for each in metadata.tech_stack}
    assert found == {"nginx": "1.24.0", "PHP": "8.2.1", "JTL-Shop": None}
    assert metadata.shop_system == "JTL-Shop"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('<link rel="shortcut icon" href="/f.ico">', "https://bakery.example/f.ico"),
        (
            '<link rel="apple-touch-icon" href="/a.png"><link rel="ICON" href="i.png">',
            "https://bakery.example/i.png",
        ),
        ('<link rel="apple-touch-icon" href="/a.png">', "https://bakery.example/a.png"),
        ('<link rel="mask-icon" href="/m.svg">', None),
        ('<link rel="icon" href="data:image/png;base64,AA">', None),
        ("", None),
    ],
)
def test_the_icon_is_the_one_that_the_page_names(head: str, expected: str | None) -> None:
    assert read(head=head).favicon_url == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<header><img src="/a.png" class="site-logo"></header>', "/a.png"),
        ('<img src="/door.jpg"><a class="Logo"><span><img src="/b.svg"></span></a>', "/b.svg"),
        ('<img src="/img/Our-Logo.png">', "/img/Our-Logo.png"),
        ('<img src="/x.png" alt="Logo of the bakery">', "/x.png"),
        ('<img src="data:image/gif;base64,R0" data-src="/c.png" id="logo">', "/c.png"),
        ('<div class="partners"><img src="/logo-mill.png"></div>', None),
        ('<header><img src="/door.jpg"></header>', None),
    ],
)
def test_the_logo_is_the_picture_that_is_called_so(body: str, expected: str | None) -> None:
    found = read(body).logo_url

    assert found == (f"https://bakery.example{expected}" if expected else None)


def test_structured_data_names_the_logo_first_and_a_shared_picture_last() -> None:
    stated = json_ld({"@type": "Bakery", "name": "B", "logo": {"url": "/stated.png"}})
    shared = '<meta property="og:image" content="/img/logo.png">'
    picture = '<header><img class="logo" src="/seen.png"></header>'

    assert read(picture, stated + shared).logo_url == "https://bakery.example/stated.png"
    assert read(picture, shared).logo_url == "https://bakery.example/seen.png"
    assert read("", shared).logo_url == "https://bakery.example/img/logo.png"
    assert read("", shared.replace("logo", "door")).logo_url is None


def test_an_organisation_is_taken_as_it_states_itself() -> None:
    found = organisation(
        {
            "@context": "https://schema.org",
            "@type": ["Bakery", "Organization"],
            "name": "M&uuml;ller &amp; Sons",
            "legalName": "Müller GmbH",
            "telephone": "+49 30 1234",
            "email": "hello@bakery.example",
            "url": "/",
            "address": {
                "@type": "PostalAddress",
                "streetAddress": "Mill Lane 1",
                "postalCode": 10115,
                "addressLocality": "Berlin",
                "addressCountry": {"@type": "Country", "name": "DE"},
            },
            "geo": {"latitude": "52.5", "longitude": 13.4},
            "openingHours": ["Mo-Fr 06:00-18:00"],
            "openingHoursSpecification": {
                "dayOfWeek": ["https://schema.org/Saturday", "Sunday"],
                "opens": "07:00",
                "closes": "12:00",
            },
            "sameAs": ["https://social.example/mueller", "https://social.example/mueller", 7],
        }
    )

    assert found == Organisation(
        types=("Bakery", "Organization"),
        name="Müller & Sons",
        legal_name="Müller GmbH",
        address=SiteAddress("Mill Lane 1", "10115", "Berlin", None, "DE"),
        telephone="+49 30 1234",
        email="hello@bakery.example",
        opening_hours=("Mo-Fr 06:00-18:00", "Saturday, Sunday 07:00-12:00"),
        latitude=52.5,
        longitude=13.4,
        same_as=("https://social.example/mueller",),
        url="https://bakery.example/",
    )


def test_of_several_organisations_the_one_with_most_to_say_counts() -> None:
    small = {"@type": "Organization", "name": "Agency"}
    large = {"@type": "LocalBusiness", "name": "Bakery", "telephone": "1", "address": "Lane 1"}

    found = organisation(small, {"@graph": [{"@type": "WebSite"}, large]})

    assert (found.name, found.address) == ("Bakery", SiteAddress(street="Lane 1"))


def test_a_reference_leads_to_what_it_means() -> None:
    logo = {"@type": "ImageObject", "@id": "#logo", "contentUrl": "/l.png"}
    firm = {"@type": "Organization", "name": "B", "logo": {"@id": "#logo"}}

    assert organisation({"@graph": [firm, logo]}).logo == "https://bakery.example/l.png"


@pytest.mark.parametrize(
    "value",
    [
        {"@type": "Product", "brand": {"@type": "Organization", "name": "Oven makers"}},
        {"@type": "Person", "name": "Miller"},
        {"@type": "Organization"},
        {"@type": "JobPosting", "hiringOrganization": {"@type": "Organization", "name": "X"}},
        [[[]]],
        "Organization",
    ],
)
def test_what_is_not_the_sites_organisation_is_left_out(value: Any) -> None:
    assert read(head=json_ld(value)).organisation is None


def test_impossible_coordinates_and_empty_addresses_are_left_out() -> None:
    found = organisation(
        {
            "@type": "Store",
            "name": "B",
            "geo": {"latitude": 999, "longitude": "east"},
            "address": {"@type": "PostalAddress"},
        }
    )

    assert (found.latitude, found.longitude, found.address) == (None, None, None)


@pytest.mark.parametrize(
    "script",
    ["{", "[" * 100_000, '{"@type": ' * 5_000, "9" * 5_000, '{"@type":"Store","name":"\\ud800"}'],
)
def test_broken_structured_data_is_no_data(script: str) -> None:
    html = page(head=f'<script type="application/ld+json">{script}</script><title>T</title>')

    metadata = read_site(answer(html))

    assert (metadata.title, metadata.organisation) == ("T", None)


def test_a_contact_form_and_the_language_are_told() -> None:
    metadata = read_site(
        answer(
            '<html lang="de-at"><form><input type="email"><textarea></textarea></form>'
            "<p>Schreiben Sie uns</p>"
        )
    )

    assert (metadata.has_contact_form, metadata.language) == (True, "de-AT")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.shop.bakery.co.uk/a", "bakery.co.uk"),
        ("bakery.example:8080", "bakery.example"),
        ("http://192.0.2.7/x", "192.0.2.7"),
        ("http://[2001:db8::1]:80/", "2001:db8::1"),
        ("https://miller.github.io/", "miller.github.io"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_a_site_is_what_can_be_registered(url: str, expected: str) -> None:
    assert get_registrable_site(url) == expected


PIECES = st.sampled_from(
    [
        "<script type=application/ld+json>",
        '{"@type":"Store","name":',
        '["a"]',
        '"x"}',
        "</script>",
        "<meta name=generator content=",
        "<img class=logo src=",
        "<link rel=icon href=",
        "//[",
        "http://",
        '"',
        ">",
        "<frame src=",
        "<noscript>",
        "location='//",
        "\x00",
    ]
)


@given(
    st.one_of(st.binary(max_size=300), st.lists(PIECES).map("".join).map(str.encode)),
    st.dictionaries(st.sampled_from(["Server", "Set-Cookie", "Via"]), st.text(max_size=20)),
    st.integers(100, 599),
)
def test_no_answer_breaks_it(body: bytes, headers: dict[str, str], status: int) -> None:
    metadata = read_site(Response(HOME, HOME, status, headers, body))

    assert metadata.reason.endswith(".")
