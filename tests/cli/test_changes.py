"""`scrapersky changes` lists new, changed and removed URLs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from scrapersky.cli.urls import parse_moment
from scrapersky.errors import InvalidInput
from tests.cli.conftest import Invoke
from tests.cli.test_urls import LOCS


@pytest.mark.parametrize(
    ("text", "ago"),
    [("12h", timedelta(hours=12)), ("7d", timedelta(days=7)), ("4W", timedelta(weeks=4))],
)
def test_a_moment_can_be_said_by_how_long_ago_it_was(text: str, ago: timedelta) -> None:
    assert abs(datetime.now(UTC) - ago - parse_moment(text)) < timedelta(minutes=1)


def test_a_moment_can_be_a_date_or_a_time() -> None:
    assert parse_moment("2026-11-01") == datetime(2026, 11, 1, tzinfo=UTC)
    assert parse_moment("2026-11-01T12:00+02:00") == datetime(2026, 11, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "99999999d", "2026-13-01"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a time"):
        parse_moment(text)


@pytest.mark.usefixtures("scanned")
def test_the_urls_of_a_first_scan_are_all_new(invoke: Invoke) -> None:
    said = invoke("changes", "bakery.example")
    as_json = invoke("changes", "bakery.example", "--json")

    assert sorted(line.split()[-1] for line in said.out.splitlines()) == LOCS
    assert all(line.startswith("+ ") for line in said.out.splitlines())
    assert "2 changes since" in said.err
    assert {json.loads(line)["kind"] for line in as_json.out.splitlines()} == {"new"}
