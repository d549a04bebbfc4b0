"""What a scan tells while it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapersky.cli.scan_display import Lines, Meter, phase_of, trouble_of
from scrapersky.cli.scan_run import Sight

READING = Sight(
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
    lines = Lines("bakery.example")

    for sight in (READING, replace(READING, urls=1_600), WAITING, WAITING, READING):
        lines.show(sight)

    assert capsys.readouterr().err.splitlines() == [
        "bakery.example: reading sitemaps, 2 sitemaps, 1,500 URLs, 0:00",
        "bakery.example: next try in 12 s, 2 sitemaps, 1,500 URLs, 0:00"
        " (attempt 2 failed: The site is away.)",
        "bakery.example: reading sitemaps, 2 sitemaps, 1,500 URLs, 0:00",
    ]


def test_the_rate_is_that_of_the_last_seconds() -> None:
    moments = iter([0.0, 0.0, 1.0, 20.0, 22.0])
    meter = Meter(now=lambda: next(moments))

    rates = [meter.rate(urls) for urls in (0, 100, 1_000, 3_000)]

    assert rates == [0.0, 100.0, 0.0, 1_000.0]


def test_a_database_that_is_away_comes_before_everything_else() -> None:
    assert phase_of(replace(WAITING, database_is_away=True)) == "waiting for the database"


def test_a_later_attempt_is_told() -> None:
    assert trouble_of(replace(READING, attempts=3)) == "attempt 3"
    assert trouble_of(READING) == ""
