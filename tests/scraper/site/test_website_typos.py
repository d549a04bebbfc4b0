"""Website fields with typos, handles and misplaced values."""

from __future__ import annotations

import pytest

from scrapersky.scraper.site.website import WebsiteType, classify_website


@pytest.mark.parametrize(
    "text",
    [
        "http:\\\\www.bakery.de",
        "bakery.de\\index.html",
        "htttp://bakery.de",
        "htps://bakery.de",
        "ttp://www.bakery.de",
        "www..bakery.de",
        "wwww.bakery.de",
        "ww.bakery.de",
        "www.bakery,de",
        "www.bakery .de",
        "https://bakery.de%20",
        "https://bakery.de%2Fmenu",
        "ｂａｋｅｒｙ．ｄｅ",
        "bakery。de",
        "bakery.de，other.de",
    ],
)
def test_a_slip_of_the_finger_does_not_cost_the_site(text: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key) == (WebsiteType.OWN, "bakery.de"), website


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ww2.bakery.de", "ww2.bakery.de"),
        ("shop.http.de", "shop.http.de"),
        ("ww.de", "ww.de"),
    ],
)
def test_what_only_looks_like_a_slip_stays(text: str, key: str) -> None:
    assert classify_website(text).site_key == key


@pytest.mark.parametrize("text", ["ftp://bakery.de", "ftp://info@bakery.de", "bakery,de"])
def test_not_everything_is_guessed(text: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.email) == (WebsiteType.UNUSABLE, None)


@pytest.mark.parametrize(
    "text", ["info (at) bakery.de", "info[at]bakery.de", "info {AT} bakery.de"]
)
def test_an_address_that_hides_its_sign_is_no_site(text: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.email) == (WebsiteType.UNUSABLE, "info@bakery.de")


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("Instagram: @the_bakery", "https://www.instagram.com/the_bakery"),
        ("IG @the_bakery", "https://www.instagram.com/the_bakery"),
        ("facebook/thebakery", "https://www.facebook.com/thebakery"),
        ("auf Facebook: thebakery", "https://www.facebook.com/thebakery"),
        ("TikTok: thebakery", "https://www.tiktok.com/@thebakery"),
    ],
)
def test_a_platform_with_a_handle_is_a_profile(text: str, profile: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.profiles) == (WebsiteType.PROFILE, (profile,))


def test_a_phone_number_is_kept_as_what_it_is() -> None:
    website = classify_website("0341 998877")

    assert (website.kind, website.phone) == (WebsiteType.UNUSABLE, "0341 998877")
    assert classify_website("https://bakery.de").phone is None


@pytest.mark.parametrize(
    "text",
    [
        "https://home.arcor.de/backhaus",
        "https://people.freenet.de/backhaus",
        "https://www.uni-town.de/~backhaus/",
        "https://vertretung.allianz.de/jens.schulz",
    ],
)
def test_a_page_below_somebody_elses_name_is_not_a_site_to_crawl(text: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key) == (WebsiteType.SITE_BUILDER, None)


def test_short_links_of_other_countries_are_followed_too() -> None:
    assert classify_website("https://t1p.de/abc").ask == "https://t1p.de/abc"
