"""Stored facts of sites, sitemaps and pages are shown in their lists and can be filtered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx
import pytest

from scrapersky.db.session import Database
from tests.app import serving
from tests.conftest import make_settings
from tests.lists.rows import API, add_rows

THEN = datetime(2026, 6, 15, tzinfo=UTC)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


KNOWN: dict[str, dict[str, Any]] = {
    "domain": {
        "status": "error",
        "error": "It did not answer.",
        "sitemap_analysis_status": "failed",
        "site_state": "parked",
        "cms": "WordPress",
        "site_builder": "Wix",
        "shop_system": "Shopify",
        "language": "de",
        "is_wordpress": True,
        "has_elementor": True,
        "has_contact_form": True,
        "title": "Bread 100% by hand",
        "metadata_read_at": THEN,
        "tech_stack": [{"name": "WordPress"}],
        "email_addresses": ["post@bakery.example"],
        "meta_json": {"name": "The bakery"},
    },
    "sitemap_file": {"curation_status": "Maybe", "http_status": 404, "status": "error"},
    "page": {
        "page_processing_status": "Error",
        "page_processing_error": "It did not answer.",
        "contact_scrape_status": "Error",
        "page_type": "contact",
        "host": "bakery.example",
        "http_status": 404,
        "priority_level": 1,
        "language": "de",
        "has_contact_form": True,
        "h1": "Write to us",
        "read_at": THEN,
    },
}
PLURAL = {"domain": "domains", "sitemap_file": "sitemap-files", "page": "pages"}
FILTERS: list[tuple[str, dict[str, Any]]] = [
    ("domain", {"status": "error"}),
    ("domain", {"sitemap_analysis_status": "failed"}),
    ("domain", {"site_state": "parked"}),
    ("domain", {"cms": ["WordPress", "Drupal"]}),
    ("domain", {"site_builder": "Wix"}),
    ("domain", {"shop_system": "Shopify"}),
    ("domain", {"language": "de"}),
    ("domain", {"is_wordpress": True}),
    ("domain", {"has_elementor": True}),
    ("domain", {"has_contact_form": True}),
    ("domain", {"text": "BREAD 100%"}),
    ("domain", {"error": "did not answer"}),
    ("domain", {"metadata_read_since": "2026-06-01"}),
    ("sitemap_file", {"curation_status": "Maybe"}),
    ("sitemap_file", {"http_status": 404}),
    ("page", {"page_processing_status": "Error"}),
    ("page", {"contact_scrape_status": "Error"}),
    ("page", {"page_type": "contact"}),
    ("page", {"host": "bakery.example"}),
    ("page", {"http_status": [404, 410]}),
    ("page", {"priority_level": 1}),
    ("page", {"language": "de"}),
    ("page", {"has_contact_form": True}),
    ("page", {"text": "write to"}),
    ("page", {"error": "answer"}),
    ("page", {"has_error": True}),
    ("page", {"read_since": "2026-06-01"}),
]


@pytest.fixture
async def known(database: Database) -> dict[str, UUID]:
    """Of each kind one row of which all is known, and one of which nothing is."""
    found = {}
    for kind, facts in KNOWN.items():
        await add_rows(database, kind, 1)
        (found[kind],) = await add_rows(database, kind, 1, **facts)
    return found


async def test_each_filter_finds_the_row_it_means_in_lists_and_decisions(
    client: httpx.AsyncClient, known: dict[str, UUID]
) -> None:
    wrong = {}
    for kind, given in FILTERS:
        listed = await client.get(f"{API}/{PLURAL[kind]}", params=given)
        body = {"status": "Selected", "filter": given, "dry_run": True}
        tried = await client.post(f"{API}/{PLURAL[kind]}/curate", json=body)
        ids = [each["id"] for each in listed.json().get("items", [])]
        if ids != [str(known[kind])] or tried.json().get("matched_count") != 1:
            wrong[kind, json.dumps(given)] = (listed.text[:200], tried.text[:200])

    assert wrong == {}


@pytest.mark.parametrize("kind", KNOWN)
async def test_lists_show_what_is_known(
    client: httpx.AsyncClient, known: dict[str, UUID], kind: str
) -> None:
    items = (await client.get(f"{API}/{PLURAL[kind]}")).json()["items"]
    one = (await client.get(f"{API}/{PLURAL[kind]}/{known[kind]}")).json()

    shown = next(each for each in items if each["id"] == str(known[kind]))
    expected = {name: _plain(value) for name, value in KNOWN[kind].items()}
    assert {name: one.get(name) for name in expected} == expected
    expected.pop("meta_json", None)
    assert {name: shown.get(name) for name in expected} == expected


def _plain(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


@pytest.mark.parametrize(
    "given", [{"http_status": 40_000}, {"http_status": -1}, {"http_status": "x"}, {"status": "ok"}]
)
async def test_what_no_column_can_hold_is_refused(
    client: httpx.AsyncClient, given: dict[str, Any]
) -> None:
    kind = "domains" if "status" in given else "pages"
    assert (await client.get(f"{API}/{kind}", params=given)).status_code == 422


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"page_processing_status": "Filtered", "page_type": "blog"}, "of type blog"),
        ({"page_processing_status": "Filtered", "page_type": "other"}, "The page type is unknown"),
        ({"page_processing_status": "Filtered"}, "The page type is unknown"),
        (
            {"page_processing_status": "Filtered", "page_processing_error": "robots.txt."},
            "robots.txt.",
        ),
        ({"page_processing_status": "Error", "page_processing_error": "No."}, None),
        ({"page_processing_status": "New", "page_type": "blog"}, None),
    ],
)
async def test_a_page_that_was_filtered_says_why(
    client: httpx.AsyncClient, database: Database, facts: dict[str, Any], told: str | None
) -> None:
    (page_id,) = await add_rows(database, "page", 1, **facts)

    reason = (await client.get(f"{API}/pages/{page_id}")).json()["reason"]

    assert (reason is None) if told is None else (told in reason)
