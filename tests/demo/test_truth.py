"""The expected contacts of the town are exactly those on its pages, and every kind occurs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from scrapersky.demo.sites import markup, streets
from scrapersky.demo.sites.builder import (
    HOME_PATH,
    PageSnippet,
    SiteLayout,
    SitePages,
    build_json_ld,
)
from scrapersky.demo.town import SITES
from scrapersky.models import EmptyReason
from scrapersky.scraper.contacts.finder import find_contacts
from scrapersky.scraper.contacts.model import ContactChannel

NAME = "mill-lane.example"
NOT_OF_THE_TOWN = {EmptyReason.NOT_READ_YET, EmptyReason.NO_WEBSITE, EmptyReason.ONLY_SOCIAL}
"""Before it is read, and what a site that is read cannot be."""


def found_in(*pieces: PageSnippet, language: str = "en") -> dict[tuple[ContactChannel, str], str]:
    html = SitePages(SiteLayout(name="Mill Lane", language=language), {HOME_PATH: pieces}).html(
        HOME_PATH
    )
    found = find_contacts(html, url=f"http://{NAME}/")
    return {(each.kind, each.value): each.method for each in found}


def truth_of(shown: PageSnippet) -> dict[tuple[ContactChannel, str], str]:
    return {(each.kind, each.value): each.method for each in shown.contacts}


@pytest.mark.parametrize("cloak", markup.EMAIL_MARKUPS, ids=lambda cloak: cloak.__name__)
def test_an_address_is_found_below_every_cloak_among_decoys(cloak: markup.EmailMarkup) -> None:
    shown = cloak(f"info@{NAME}")
    assert truth_of(shown)
    assert found_in(shown, *markup.list_decoys()) == truth_of(shown)


def test_every_cloak_has_its_house() -> None:
    shows = {site.shows.partition(",")[0] for site in streets.STREET_SITES}
    assert len(shows) == len(markup.EMAIL_MARKUPS)


@pytest.mark.parametrize(
    ("language", "number"),
    [
        ("en-US", markup.american(43)),
        ("en-GB", markup.british(18)),
        ("de", markup.german(114)),
        ("fr", markup.french(34)),
        ("sv", markup.swedish(12)),
        ("en-AU", markup.australian(34)),
    ],
    ids=lambda value: value if isinstance(value, str) else value.value,
)
def test_a_number_is_found_as_each_country_writes_it(
    language: str, number: markup.DemoPhoneNumber
) -> None:
    for shown in (markup.national(number), markup.call_link(number)):
        assert found_in(shown, *markup.list_decoys(), language=language) == truth_of(shown)


@pytest.mark.parametrize(
    "platform",
    [markup.instagram, markup.facebook, markup.x, markup.linkedin, markup.youtube],
    ids=lambda platform: platform.__name__,
)
def test_a_profile_is_found_beside_links_that_only_share(
    platform: Callable[[str], PageSnippet],
) -> None:
    shown = platform("milllane")
    assert found_in(shown, markup.share_links()) == truth_of(shown)


def test_an_organisation_states_its_contacts_itself() -> None:
    shown = build_json_ld(
        "Bakery",
        "Mill Lane",
        email=f"info@{NAME}",
        telephone="+442079460018",
        same_as=["https://www.facebook.com/milllane"],
    )
    assert len(truth_of(shown)) == 3
    assert found_in(shown) == truth_of(shown)


@pytest.mark.parametrize("language", ["en", "de", "fr", "sv", "es", "it"])
def test_nothing_is_found_in_decoys(language: str) -> None:
    assert found_in(*markup.list_decoys(), language=language) == {}


def test_the_town_has_forty_sites_and_every_reason_to_be_empty() -> None:
    assert len(SITES) >= 40
    reasons = {site.expected.why for site in SITES} - {None}
    assert reasons == set(EmptyReason) - NOT_OF_THE_TOWN


def test_a_site_has_contacts_or_a_reason_for_having_none() -> None:
    assert all(bool(site.expected.contacts) != bool(site.expected.why) for site in SITES)


def test_contacts_belong_to_one_site_each() -> None:
    owners = Counter(value for site in SITES for _, value in site.expected.contacts)
    assert [value for value, count in owners.items() if count > 1] == []
