"""Findings are highlighted in their snippet, and page content is always escaped."""

from __future__ import annotations

import pytest

from scrapersky.dashboard.labels import EXTRACTION_METHODS, MAX_CONTEXT_LENGTH, highlight_snippet
from scrapersky.scraper.contacts.model import ExtractionMethod

BERGER = "anna@berger.de"


@pytest.mark.parametrize(
    ("snippet", "found", "shown"),
    [
        ("Mail: Anna@Berger.de!", (BERGER,), "Mail: <mark>Anna@Berger.de</mark>!"),
        ("a (at) b", ("a (at) b", BERGER), "<mark>a (at) b</mark>"),
        ("Tel 030-90 18 20.", ("030901820",), "Tel <mark>030-90 18 20</mark>."),
        ("Room 12", ("12345",), "Room 12"),
        (f"<b>{BERGER}</b>", (BERGER,), f"&lt;b&gt;<mark>{BERGER}</mark>&lt;/b&gt;"),
        ("<b>", ("<b>",), "<mark>&lt;b&gt;</mark>"),
        ("nothing of it", (None, ""), "nothing of it"),
    ],
    ids=["letters", "raw", "digits", "few digits", "markup", "hostile value", "nothing"],
)
def test_what_was_found_is_marked_and_everything_is_escaped(
    snippet: str, found: tuple[str | None, ...], shown: str
) -> None:
    assert highlight_snippet(snippet, *found) == f"<bdi>{shown}</bdi>"


def test_of_a_very_long_snippet_the_part_around_the_find_is_shown() -> None:
    shown = highlight_snippet("x" * 9_000 + BERGER + "y" * 9_000, BERGER)

    assert f"x<mark>{BERGER}</mark>y" in shown
    assert len(shown) < 2 * MAX_CONTEXT_LENGTH + 100
    assert shown.count("…") == 2


def test_every_way_of_finding_contacts_has_words() -> None:
    assert {each.value for each in ExtractionMethod} <= set(EXTRACTION_METHODS)
