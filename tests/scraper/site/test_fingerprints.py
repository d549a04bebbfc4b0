"""Every fingerprint matches its own examples and no others."""

from __future__ import annotations

from collections import Counter

import pytest

from scrapersky.scraper.html.document import open_document
from scrapersky.scraper.site.fingerprints import (
    STATE_CATEGORIES,
    Fingerprint,
    FingerprintExample,
    SiteEvidence,
    collect_evidence,
    find_technologies,
    list_technologies,
    load_fingerprints,
    match_fingerprints,
)

EVERY_EXAMPLE = [
    pytest.param(fingerprint, example, id=f"{fingerprint.name}-{number}")
    for fingerprint in load_fingerprints()
    for number, example in enumerate(fingerprint.examples)
]
BY_NAME = {each.name: each for each in load_fingerprints()}

ORDINARY = """<!doctype html><html lang="en"><head><title>Miller's bakery</title>
<meta name="viewport" content="width=device-width"><meta name="author" content="Miller">
<link rel="stylesheet" href="/css/site.css"><script src="/js/menu.js" defer></script></head>
<body><header><a href="/"><img src="/img/logo.svg" alt="Miller's"></a>
<nav><a href="/bread">Bread</a> <a href="https://shopping.example/cart">Order</a></nav></header>
<main><h1>Bread, every day</h1><p>We bake with WordPress in mind, sell no domain, and our shop
is open from six. Drupal, Joomla and Shopify are names on this page, no more.</p>
<script>document.querySelector("nav").classList.add("open")</script></main></body></html>"""


def evidence_of(example: FingerprintExample) -> SiteEvidence:
    url = f"https://{example.host or 'bakery.example'}/"
    return collect_evidence(example.headers, url, open_document(example.html, url=url))


def with_implied(name: str) -> set[str]:
    names = [name]
    for each in names:
        names += BY_NAME[each].implies
    return set(names)


@pytest.mark.parametrize(("fingerprint", "example"), EVERY_EXAMPLE)
def test_an_example_is_recognised_as_that_and_as_nothing_else(
    fingerprint: Fingerprint, example: FingerprintExample
) -> None:
    found = {
        each.name: each for each in match_fingerprints(evidence_of(example), load_fingerprints())
    }

    assert fingerprint.name in found
    assert set(found) <= with_implied(fingerprint.name)
    assert found[fingerprint.name].evidence
    if example.version is not None:
        assert found[fingerprint.name].version == example.version


def test_an_ordinary_page_is_made_with_nothing_we_know() -> None:
    evidence = evidence_of(FingerprintExample(html=ORDINARY))

    assert list(match_fingerprints(evidence, load_fingerprints())) == []


def test_what_something_needs_is_there_too() -> None:
    page = FingerprintExample(html='<script src="/wp-content/plugins/woocommerce/a.js"></script>')

    found = {each.name: each.evidence for each in find_technologies(evidence_of(page))}

    assert found["PHP"] == "implied by WordPress"
    assert set(found) == {"WordPress", "WooCommerce", "PHP"}


def test_a_version_is_taken_from_whichever_address_carries_it() -> None:
    page = FingerprintExample(
        html='<link rel="stylesheet" href="/wp-content/plugins/elementor/a.css">'
        '<script src="/wp-content/plugins/elementor/b.js?ver=3.20.1"></script>'
    )

    versions = {each.name: each.version for each in find_technologies(evidence_of(page))}

    assert versions["Elementor"] == "3.20.1"


def test_addresses_that_scripts_load_count_even_when_escaped() -> None:
    page = FingerprintExample(
        html=r'<script>load("https:\/\/static.hotjar.com\/c\/hotjar.js")</script>'
    )

    assert [each.name for each in find_technologies(evidence_of(page))] == ["Hotjar"]


def test_links_to_other_sites_are_not_what_a_site_is_made_with() -> None:
    page = FingerprintExample(
        html='<a href="https://www.googletagmanager.com/gtm.js">what we do not use</a>'
    )

    assert find_technologies(evidence_of(page)) == ()


def test_names_are_unique_and_what_is_implied_exists() -> None:
    names = Counter(each.name for each in load_fingerprints())

    assert [name for name, times in names.items() if times > 1] == []
    assert {implied for each in load_fingerprints() for implied in each.implies} <= set(names)


def test_every_fingerprint_has_something_to_match_and_an_example() -> None:
    for each in load_fingerprints():
        matchers = (each.generator, each.urls, each.html, each.text, each.headers)
        assert any((*matchers, each.cookies, each.hosts)), each.name
        assert each.examples, each.name


def test_parts_of_addresses_and_texts_are_written_as_they_are_compared() -> None:
    for each in load_fingerprints():
        for part in (*each.urls, *each.text):
            assert part == part.lower(), each.name


def test_there_are_many_and_the_states_are_apart() -> None:
    assert len(list_technologies()) >= 90
    assert not STATE_CATEGORIES & {each.category for each in list_technologies()}
