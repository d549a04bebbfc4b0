"""What the town publishes can be found on its pages, and nothing else; it shows every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from scrapersky.demo import cloaks, decoys, profiles, telephones
from scrapersky.demo.pages import HOME, House, Pages, organisation
from scrapersky.demo.published import Shown
from scrapersky.demo.sites import SITES, streets
from scrapersky.models import WhyEmpty
from scrapersky.scraper.contact_finder import Kind, find_contacts

NAME = "mill-lane.example"
NOT_OF_THE_TOWN = {WhyEmpty.NOT_READ_YET, WhyEmpty.NO_WEBSITE, WhyEmpty.ONLY_SOCIAL}
"""Before it is read, and what a site that is read cannot be."""


def found_in(*pieces: Shown, language: str = "en") -> dict[tuple[Kind, str], str]:
    html = Pages(House(name="Mill Lane", language=language), {HOME: pieces}).html(HOME)
    found = find_contacts(html, url=f"http://{NAME}/")
    return {(each.kind, each.value): each.method for each in found}


def truth_of(shown: Shown) -> dict[tuple[Kind, str], str]:
    return {(each.kind, each.value): each.method for each in shown.contacts}


@pytest.mark.parametrize("cloak", cloaks.EVERY_CLOAK, ids=lambda cloak: cloak.__name__)
def test_an_address_is_found_below_every_cloak_among_decoys(cloak: cloaks.Cloak) -> None:
    shown = cloak(f"info@{NAME}")
    assert truth_of(shown)
    assert found_in(shown, *decoys.everything()) == truth_of(shown)


def test_every_cloak_has_its_house() -> None:
    shows = {site.shows.partition(",")[0] for site in streets.SITES}
    assert len(shows) == len(cloaks.EVERY_CLOAK)


@pytest.mark.parametrize(
    ("language", "number"),
    [
        ("en-US", telephones.american(43)),
        ("en-GB", telephones.british(18)),
        ("de", telephones.german(114)),
        ("fr", telephones.french(34)),
        ("sv", telephones.swedish(12)),
        ("en-AU", telephones.australian(34)),
    ],
    ids=lambda value: value if isinstance(value, str) else value.value,
)
def test_a_number_is_found_as_each_country_writes_it(
    language: str, number: telephones.Number
) -> None:
    for shown in (telephones.national(number), telephones.call_link(number)):
        assert found_in(shown, *decoys.everything(), language=language) == truth_of(shown)


@pytest.mark.parametrize(
    "platform",
    [profiles.instagram, profiles.facebook, profiles.x, profiles.linkedin, profiles.youtube],
    ids=lambda platform: platform.__name__,
)
def test_a_profile_is_found_beside_links_that_only_share(
    platform: Callable[[str], Shown],
) -> None:
    shown = platform("milllane")
    assert found_in(shown, decoys.share_links()) == truth_of(shown)


def test_an_organisation_states_its_contacts_itself() -> None:
    shown = organisation(
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
    assert found_in(*decoys.everything(), language=language) == {}


def test_the_town_has_forty_sites_and_every_reason_to_be_empty() -> None:
    assert len(SITES) >= 40
    reasons = {site.expected.why for site in SITES} - {None}
    assert reasons == set(WhyEmpty) - NOT_OF_THE_TOWN


def test_a_site_has_contacts_or_a_reason_for_having_none() -> None:
    assert all(bool(site.expected.contacts) != bool(site.expected.why) for site in SITES)


def test_contacts_belong_to_one_site_each() -> None:
    owners = Counter(value for site in SITES for _, value in site.expected.contacts)
    assert [value for value, count in owners.items() if count > 1] == []
