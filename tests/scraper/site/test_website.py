"""Website fields are parsed and classified."""

from __future__ import annotations

import ipaddress
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapersky import models
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.site.website import (
    Website,
    WebsiteType,
    classify_website,
    find_shared_host,
    iter_shared_hosts,
)

K = WebsiteType


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("https://www.bakery.de/", "bakery.de"),
        ("bakery.de", "bakery.de"),
        ("www.bakery.de/kontakt.html", "bakery.de"),
        ("HTTP://WWW.BAKERY.DE", "bakery.de"),
        ("bakery.de.", "bakery.de"),
        ("//bakery.de", "bakery.de"),
        (" bakery.de,", "bakery.de"),
        ("https://bäckerei-müller.de", "xn--bckerei-mller-bfb28a.de"),
        ("https://bakery.de:8443/shop", "bakery.de:8443"),
        ("https://bakery.de:443/", "bakery.de"),
        ("http//bakery.de", "bakery.de"),
        ("https:bakery.de", "bakery.de"),
        ("http://https://bakery.de/", "bakery.de"),
        ("http:// www.bakery.de", "bakery.de"),
        ("Website: www.bakery.de", "bakery.de"),
        ('<a href="https://bakery.de/">our site</a>', "bakery.de"),
        ("https://bakery.de/?utm_source=maps&amp;utm_medium=organic", "bakery.de"),
        ("bakery\u200b.de", "bakery.de"),
        ("shop.bakery.co.uk", "shop.bakery.co.uk"),
        ("http://bakery.example/", "bakery.example"),
        # A subdomain of its own on a builder's host is a site like any other.
        ("https://backhaus.jimdofree.com/", "backhaus.jimdofree.com"),
        ("backhaus.business.site", "backhaus.business.site"),
        ("backhaus.wordpress.com/about", "backhaus.wordpress.com"),
        ("https://backhaus.github.io/shop/", "backhaus.github.io"),
        ("backhaus.myshopify.com", "backhaus.myshopify.com"),
        ("backhaus.webnode.page", "backhaus.webnode.page"),
        # A hospital has its own below a name that also lists others.
        ("https://www.stgeorges.nhs.uk/", "stgeorges.nhs.uk"),
    ],
)
def test_a_site_of_its_own_is_known_by_its_name(text: str, key: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key, website.ask) == (K.OWN, key, None), website


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://www.google.com/url?q=https%3A%2F%2Fbakery.de%2Fx&sa=U", "https://bakery.de/x"),
        ("http://www.google.de/url?sa=t&url=bakery.de", "http://bakery.de"),
        ("https://l.facebook.com/l.php?u=https%3A%2F%2Fbakery.de%2F%3Ffbclid%3DA", "https://bakery.de/"),
        ("https://l.instagram.com/?u=http%3A%2F%2Fbakery.de&e=x", "http://bakery.de"),
        ("https://www.youtube.com/redirect?q=https%3A%2F%2Fbakery.de", "https://bakery.de"),
        ("https://www.linkedin.com/safety/go?url=https%3A%2F%2Fbakery.de", "https://bakery.de"),
        ("https://www.yelp.com/biz_redir?url=https%3A%2F%2Fbakery.de&x=1", "https://bakery.de"),
        ("https://www.google.com/amp/s/bakery.de/amp/", "https://bakery.de/amp/"),
        ("https://bakery-de.cdn.ampproject.org/v/s/bakery.de/amp", "https://bakery.de/amp"),
        ("https://cafe--berger-de.translate.goog/karte?_x_tr_sl=de", "https://cafe-berger.de/karte"),
        ("https://translate.google.com/translate?sl=de&u=https://bakery.de/", "https://bakery.de/"),
        ("https://web.archive.org/web/2019/https://bakery.de/", "https://bakery.de/"),
        ("https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fbakery.de&data=1", "https://bakery.de"),
        (
            "https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.google.com%2Furl%3Fq%3Dhttps%253A%252F%252Fbakery.de",
            "https://bakery.de",
        ),
        ("https://bakery.de/?utm_source=gmb&gclid=1&id=7#top", "https://bakery.de/?id=7"),
        ("https://bakery.de/?a=1&b=%20", "https://bakery.de/?a=1&b=%20"),
    ],
)  # fmt: skip
def test_wrappers_and_tracking_are_taken_off_without_asking_anybody(text: str, url: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.url, website.ask) == (K.OWN, url, None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://www.yelp.de/biz/backhaus-leipzig", K.DIRECTORY),
        ("https://www.yelp.co.uk/biz/x", K.DIRECTORY),
        ("gelbeseiten.de/gsbiz/1", K.DIRECTORY),
        ("https://www.tripadvisor.com.au/Restaurant", K.DIRECTORY),
        ("https://www.google.com/maps/place/x", K.DIRECTORY),
        ("https://maps.google.co.uk/?cid=7", K.DIRECTORY),
        ("https://goo.gl/maps/abc", K.DIRECTORY),
        ("https://g.page/backhaus", K.DIRECTORY),
        ("https://www.nhs.uk/services/gp-surgery/x", K.DIRECTORY),
        ("https://www.ebay.at/str/backhaus", K.MARKETPLACE),
        ("https://www.lieferando.de/menu/x", K.MARKETPLACE),
        ("https://www.booking.com/hotel/de/x.html", K.MARKETPLACE),
        ("https://www.doctolib.fr/x", K.MARKETPLACE),
        ("https://sites.google.com/view/backhaus", K.SITE_BUILDER),
        ("https://backhaus.wixsite.com/leipzig", K.SITE_BUILDER),
        ("https://wordpress.com/backhaus", K.SITE_BUILDER),
        ("github.io", K.SITE_BUILDER),
        ("https://www.facebook.com/sharer.php?u=x", K.PROFILE),
        ("facebook.com", K.PROFILE),
    ],
)
def test_a_page_on_a_shared_host_is_not_a_site_of_its_own(text: str, kind: WebsiteType) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key, website.profile) == (kind, None, None)
    assert website.reason
    assert website.reason.endswith(".")


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("facebook.com/Backhaus.Berger", "https://www.facebook.com/backhaus.berger"),
        ("https://de-de.facebook.com/backhaus/?ref=x", "https://www.facebook.com/backhaus"),
        ("https://www.instagram.com/backhaus/?hl=de", "https://www.instagram.com/backhaus"),
        ("https://wa.me/4934112345", "https://wa.me/4934112345"),
        ("linktr.ee/backhaus/", "https://linktr.ee/backhaus"),
        ("https://vk.com/backhaus?w=1", "https://vk.com/backhaus"),
    ],
)
def test_a_profile_is_the_businesss_and_in_one_spelling(text: str, profile: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.profile, website.profiles) == (K.PROFILE, profile, (profile,))
    assert website.site_key is None


@pytest.mark.parametrize(
    "text",
    [
        "https://facebook.com/backhaus; https://bakery.de; https://other.de",
        "https://facebook.com/backhaus,https://bakery.de,www.other.de",
        "https://facebook.com/backhaus\nbakery.de\nother.de",
        "facebook.com/backhaus | bakery.de | other.de",
        "facebook.com/backhaus bakery.de;other.de",
        "https://facebook.com/backhaushttps://bakery.dehttps://other.de",
    ],
)
def test_of_several_the_first_own_site_is_taken_and_profiles_are_kept(text: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key) == (K.OWN, "bakery.de")
    assert website.profiles == ("https://www.facebook.com/backhaus",)
    assert website.reason == "Of 3 addresses, this is the first that is the business's own site."


def test_a_comma_within_an_address_does_not_end_it() -> None:
    assert (
        classify_website("https://bakery.de/shop,12;a.html").url
        == "https://bakery.de/shop,12;a.html"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("+49 341 123456", "phone number"),
        ("tel: 0341/12 34 56", "phone number"),
        ("(0341) 123-456", "phone number"),
        ("Backhaus Berger", "not a website address"),
        ("Bakery.Berger", "not a website address"),
        ("localhost", "not a website address"),
        ("http://localhost:8080/", "private"),
        ("http://192.168.1.1/", "private"),
        ("http://169.254.169.254/latest", "private"),
        ("http://93.184.216.34/", "IP address"),
        ("http://[::1]/", "private"),
        ("http://printer.local", "private"),
        ("https://bakery.de:22/", "Port 22"),
        ("ftp://bakery.de", "not a website address"),
        ("javascript:alert(1)", "not a website address"),
        ("gmail.com", "mail provider"),
        ("https://google.com/", "does not identify"),
        ("http://example.com", "does not identify"),
        ("https://bit.ly/", "link shortener"),
        ("http://co.uk", "public suffix"),
    ],
)
def test_what_is_no_website_is_said_to_be_none(text: str, said: str) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key, website.ask) == (K.UNUSABLE, None, None), website
    assert said in (website.reason or "")


@pytest.mark.parametrize(
    "text", [None, "", "  ", "-", "n/a", "http://", "https://www.", "none", "keine Website"]
)
def test_an_empty_field_names_none(text: str | None) -> None:
    assert classify_website(text).kind is K.NONE


@pytest.mark.parametrize(
    ("text", "email", "suggested"),
    [
        ("info@Bakery.de", "info@bakery.de", "bakery.de"),
        ("mailto:info@bakery.de", "info@bakery.de", "bakery.de"),
        ("http://info@bakery.de", "info@bakery.de", "bakery.de"),
        ("backhaus@gmail.com", "backhaus@gmail.com", None),
    ],
)
def test_an_email_is_no_website_and_its_domain_only_a_suggestion(
    text: str, email: str, suggested: str | None
) -> None:
    website = classify_website(text)

    assert (website.kind, website.site_key) == (K.UNUSABLE, None)
    assert (website.email, website.suggested) == (email, suggested)


def test_an_email_beside_a_site_is_kept() -> None:
    website = classify_website("info@bakery.de, www.other.de")

    assert (website.site_key, website.email) == ("other.de", "info@bakery.de")


@pytest.mark.parametrize("text", ["https://bit.ly/3xYz", "t.co/abc", "goo.gl/abc", "tinyurl.com/b"])
def test_only_a_short_links_host_knows_where_it_leads(text: str) -> None:
    website = classify_website(text)

    assert website.ask is not None
    assert website.ask.endswith(text.rpartition("/")[2])


def test_a_site_that_is_named_is_taken_before_a_short_link_that_must_be_asked() -> None:
    assert classify_website("bit.ly/abc bakery.de").site_key == "bakery.de"
    assert classify_website("bit.ly/abc facebook.com/backhaus").ask == "http://bit.ly/abc"


def test_what_the_settings_open_is_a_site() -> None:
    network = ipaddress.IPv4Network("127.0.0.0/8")
    rules = AddressRules((network,), resolve={"bakery.test": ("127.0.0.1", 8081)})

    assert classify_website("http://127.0.0.1:5000/", rules=rules).site_key == "127.0.0.1:5000"
    assert classify_website("bakery.test", rules=rules).site_key == "bakery.test"
    assert classify_website("https://bit.ly/x", rules=rules).ask


def test_the_words_are_those_of_the_table_of_businesses() -> None:
    assert {each.value for each in K} == {each.value for each in models.WebsiteKind}


def test_the_table_of_shared_hosts_is_large_and_says_each_once() -> None:
    named = [host for host, _ in iter_shared_hosts()]
    kinds = Counter(group.kind for _, group in iter_shared_hosts())

    assert len(named) > 700
    assert all(count > 10 for count in kinds.values()), kinds
    assert all(host == host.lower() and "." in host for host in named)


def test_the_longest_entry_decides() -> None:
    found = {host: find_shared_host(*host) for host in [("g.co", "/kgs/x"), ("g.co", "/x")]}

    assert [each.group.kind for each in found.values() if each] == ["directory", "short"]
    assert find_shared_host("notyelp.de") is None
    assert find_shared_host("nhs.uk", "/servicesx") is None


@given(st.text(max_size=300))
@example("http://[")
@example("http://a:b:c@d:99999999/")
@example("https://www.google.com/url?q=" * 8)
@example("\ud800.de")
@example("xn--.de")
@example("https://xn--a.translate.goog/")
@example("." * 300)
def test_nothing_that_stands_there_raises(text: str) -> None:
    _check(classify_website(text))


PARTS = st.sampled_from(
    [
        *("http://", "https://", "www.", "bakery", ".de", ".co.uk", "/", "?", "q=", "&", "#", "@"),
        *("google.com/url?q=", "l.facebook.com/l.php?u=", ".translate.goog", "%3A%2F%2F", ":", ";"),
        *(
            "bit.ly/",
            "facebook.com/",
            "ü",
            "xn--",
            "127.0.0.1",
            "[::1]",
            " ",
            ",",
            "|",
            "-",
            "0341",
        ),
    ]
)


@given(st.lists(PARTS, max_size=14).map("".join))
def test_nothing_that_looks_like_addresses_raises(text: str) -> None:
    _check(classify_website(text))


def _check(website: Website) -> None:
    assert (website.kind is K.OWN) == (website.site_key is not None)
    assert website.kind is K.OWN or website.reason
    assert website.profile == (website.profiles[0] if website.profiles else None)
