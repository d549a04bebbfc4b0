"""Dates in every shape people write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from scrapersky.scraper import parse_lastmod

CET = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-06", datetime(2024, 5, 6, tzinfo=UTC)),
        (" 2024-05-06\n", datetime(2024, 5, 6, tzinfo=UTC)),
        ("2024-05-06T07:08Z", datetime(2024, 5, 6, 7, 8, tzinfo=UTC)),
        ("2024-05-06T07:08:09Z", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2024-05-06T07:08:09.5+01:00", datetime(2024, 5, 6, 7, 8, 9, 500_000, tzinfo=CET)),
        ("2024-05-06T07:08:09.123456789Z", datetime(2024, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC)),
        ("2024-05-06T07:08:09+0100", datetime(2024, 5, 6, 7, 8, 9, tzinfo=CET)),
        ("2024-05-06T07:08:09+01", datetime(2024, 5, 6, 7, 8, 9, tzinfo=CET)),
        ("2024-05-06 07:08:09", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2024-05-06 07:08:09 +0100", datetime(2024, 5, 6, 7, 8, 9, tzinfo=CET)),
        ("2024-05-06 07:08:09 UTC", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2024/5/6", datetime(2024, 5, 6, tzinfo=UTC)),
        ("2024-5-6", datetime(2024, 5, 6, tzinfo=UTC)),
        ("Mon, 06 May 2024 07:08:09 GMT", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("Mon, 06 May 2024 07:08:09 +0100", datetime(2024, 5, 6, 7, 8, 9, tzinfo=CET)),
        ("6 May 24 07:08:09", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("", None),
        ("yesterday", None),
        ("0000-00-00", None),
        ("2024-13-01", None),
        ("2024-02-30", None),
        ("2024-05-06T25:00:00Z", None),
        ("2024-05-06T07:08:09+99:00", None),
        ("20240506", None),
        ("1", None),
        ("-", None),
        ("9" * 5000, None),
        ("Mon, 99 May 2024 07:08:09 GMT", None),
    ],
)
def test_a_date_becomes_an_aware_moment_or_nothing(text: str, expected: datetime | None) -> None:
    moment = parse_lastmod(text)

    assert moment == expected
    assert moment is None or moment.tzinfo is not None
