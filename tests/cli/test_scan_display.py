"""The progress display of a scan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapersky.cli.scan import (
    LinePrinter,
    RateMeter,
    ScanSnapshot,
    describe_phase,
    describe_trouble,
)

READING = ScanSnapshot(
    status="processing",
    phase="reading sitemaps",
    attempts=1,
    error=None,
    due_in_seconds=0.0,
    sitemaps=2,
    urls=1_500,
)
WAITING = replace(
    READING, status="pending", attempts=2, error="The site is away.", due_in_seconds=12.4
)


def test_a_line_is_printed_only_for_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LinePrinter("bakery.example")

    for sight in (READING, replace(READING, urls=1_600), WAITING, WAITING, READING):
        lines.show(sight)

    assert capsys.readouterr().err.splitlines() == [
        "bakery.example: reading sitemaps, 2 sitemaps, 1,500 URLs, 0:00",
        "bakery.example: retrying in 12 s, 2 sitemaps, 1,500 URLs, 0:00"
        " (attempt 2 failed: The site is away.)",
        "bakery.example: reading sitemaps, 2 sitemaps, 1,500 URLs, 0:00",
    ]


def test_the_rate_is_that_of_the_last_seconds() -> None:
    moments = iter([0.0, 0.0, 1.0, 20.0, 22.0])
    meter = RateMeter(now=lambda: next(moments))

    rates = [meter.rate(urls) for urls in (0, 100, 1_000, 3_000)]

    assert rates == [0.0, 100.0, 0.0, 1_000.0]


def test_a_database_that_is_away_comes_before_everything_else() -> None:
    assert describe_phase(replace(WAITING, database_is_away=True)) == "waiting for the database"


def test_a_later_attempt_is_told() -> None:
    assert describe_trouble(replace(READING, attempts=3)) == "attempt 3"
    assert describe_trouble(READING) == ""
