"""What is stored for each URL, and which URLs may be listed twice."""

from __future__ import annotations

import json

from scrapersky.scraper.http.urls import url_digest
from scrapersky.scraper.sitemaps.parse.entries import UrlEntry
from scrapersky.sitemaps.scan_buffer import ROW_COLUMNS, UrlBloomFilter, UrlRow, build_rows

URLS = 20_000


def value(row: UrlRow, column: str) -> object:
    return row[ROW_COLUMNS.index(column)]


def digests(name: str) -> list[bytes]:
    return [url_digest(f"https://{name}.example/{number}") for number in range(URLS)]


def test_a_url_that_was_seen_is_never_taken_for_a_new_one() -> None:
    sightings = UrlBloomFilter(URLS)
    for digest in digests("bakery"):
        sightings.check_and_add(digest)
    assert all(sightings.check_and_add(digest) for digest in digests("bakery"))


def test_few_new_urls_are_taken_for_seen_ones() -> None:
    sightings = UrlBloomFilter(2 * URLS)
    mistaken = sum(
        sightings.check_and_add(digest) for digest in (*digests("bakery"), *digests("cinema"))
    )
    assert mistaken < 2 * URLS / 100


def test_more_urls_than_expected_still_leave_none_out() -> None:
    sightings = UrlBloomFilter(1)
    for digest in digests("bakery"):
        sightings.check_and_add(digest)
    assert all(sightings.check_and_add(digest) for digest in digests("bakery"))


def test_without_sightings_any_url_may_repeat() -> None:
    (row,) = build_rows([UrlEntry("https://bakery.example/")], None)
    assert value(row, "may_repeat") is True


def test_what_a_sitemap_lists_twice_is_stored_as_it_said_last() -> None:
    first, last = (
        UrlEntry("https://bakery.example/", priority=priority) for priority in (0.1, 0.9)
    )
    (row,) = build_rows([first, last], UrlBloomFilter(10))
    assert value(row, "priority") == 0.9


def test_extensions_are_kept_as_json_and_absent_ones_as_nothing() -> None:
    bare, rich = build_rows(
        [UrlEntry("https://a.example/"), UrlEntry("https://b.example/", images=[{"loc": "x.jpg"}])],
        UrlBloomFilter(10),
    )
    assert value(bare, "extras") is None
    assert json.loads(str(value(rich, "extras"))) == {"images": [{"loc": "x.jpg"}]}
