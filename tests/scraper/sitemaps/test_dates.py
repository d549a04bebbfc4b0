"""Dates in every format that people write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper import parse_lastmod


def zone(hours: float) -> timezone:
    return timezone(timedelta(hours=hours))


def moment(*parts: int, hours: float = 0) -> datetime:
    return datetime(*parts, tzinfo=zone(hours))  # type: ignore[arg-type, misc]


DAY = moment(2024, 5, 6)
MINUTE = moment(2024, 5, 6, 7, 8)
SECOND = moment(2024, 5, 6, 7, 8, 9)

W3C = [
    ("2024", moment(2024, 1, 1)),
    ("2024-05", moment(2024, 5, 1)),
    ("2024-5", moment(2024, 5, 1)),
    ("2024-05-06", DAY),
    (" 2024-05-06\n", DAY),
    ("\ufeff2024-05-06\u200b", DAY),
    ("2024-05-06T07Z", moment(2024, 5, 6, 7)),
    ("2024-05-06T07:08Z", MINUTE),
    ("2024-05-06T07:08", MINUTE),
    ("2024-05-06T07:08+00:00", MINUTE),
    ("2024-05-06T07:08:09Z", SECOND),
    ("2024-05-06t07:08:09z", SECOND),
    ("2024-05-06T07:08:09 Z", SECOND),
    ("2024-05-06T 07:08:09Z", SECOND),
    ("2024-05-06 T07:08:09Z", SECOND),
    ("2024-05-06T07:08:09", SECOND),
    ("2024-05-06T07:08:09-00:00", SECOND),
    ("2024-05-06T07:08:09+0000", SECOND),
    ("2024-05-06T07:08:09+01", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-05-06T07:08:09+1:00", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-05-06T07:08:09+0100", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-05-06T07:08:09-03:30", moment(2024, 5, 6, 7, 8, 9, hours=-3.5)),
    ("2024-05-06T07:08:09+14:00", moment(2024, 5, 6, 7, 8, 9, hours=14)),
    ("2024-05-06T07:08:09+00:00[UTC]", SECOND),
    ("2024-05-06T07:08:09+02:00[Europe/Berlin]", moment(2024, 5, 6, 7, 8, 9, hours=2)),
    ("2024-05-06T07:08:09.Z", SECOND),
    ("2024-05-06T07:08:09.5+01:00", moment(2024, 5, 6, 7, 8, 9, 500_000, hours=1)),
    ("2024-05-06T07:08:09,5Z", moment(2024, 5, 6, 7, 8, 9, 500_000)),
    ("2024-05-06T07:08:09.123Z", moment(2024, 5, 6, 7, 8, 9, 123_000)),
    ("2024-05-06T07:08:09.1234567Z", moment(2024, 5, 6, 7, 8, 9, 123_456)),
    ("2024-05-06T07:08:09.123456789012345678Z", moment(2024, 5, 6, 7, 8, 9, 123_456)),
    ("2024-02-29", moment(2024, 2, 29)),
    ("1969-12-31", moment(1969, 12, 31)),
    ("0001-01-01T00:00:00Z", moment(1, 1, 1)),
    ("9999-12-31T23:59:59Z", moment(9999, 12, 31, 23, 59, 59)),
]
"""As the sitemap protocol has it, and as people write it who have not read it."""

MIDNIGHTS = [
    ("2024-05-06T24:00:00Z", moment(2024, 5, 7)),
    ("2024-05-06T24:00", moment(2024, 5, 7)),
    ("2024-12-31T24:00:00+01:00", moment(2025, 1, 1, hours=1)),
    ("Mon, 06 May 2024 24:00:00 GMT", moment(2024, 5, 7)),
    ("2016-12-31T23:59:60Z", moment(2017, 1, 1)),
]
"""The end of a day is the start of the next, and a leap second the one after it."""

OTHER_NUMBERS = [
    ("2024-05-06 07:08:09", SECOND),
    ("2024-05-06  07:08:09", SECOND),
    ("2024-05-06\u00a007:08:09", SECOND),
    ("2024-05-06 07:08:09.0", SECOND),
    ("2024-05-06 07:08:09 +0100", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-05-06 07:08:09 UTC", SECOND),
    ("2024-05-06 07:08:09 EST", moment(2024, 5, 6, 7, 8, 9, hours=-5)),
    ("2024-05-06 07:08:09 GMT+1", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-05-06 7:08:09 PM", moment(2024, 5, 6, 19, 8, 9)),
    ("2024-05-06 12:08:09 am", moment(2024, 5, 6, 0, 8, 9)),
    ("2024/5/6", DAY),
    ("2024/05/06 07:08:09", SECOND),
    ("2024.05.06", DAY),
    ("2024-5-6", DAY),
    ("2024-5-6T7:8:9Z", SECOND),
    ("20240506", DAY),
    ("20240506T070809Z", SECOND),
    ("20240506T070809+0100", moment(2024, 5, 6, 7, 8, 9, hours=1)),
    ("2024-127", DAY),
    ("2024-366", moment(2024, 12, 31)),
]

MAIL = [
    ("Mon, 06 May 2024 07:08:09 GMT", SECOND),
    ("Mon, 06 May 2024 07:08 GMT", MINUTE),
    ("Mon, 6 May 2024 07:08:09 +0000", SECOND),
    ("mon, 06 may 2024 07:08:09 gmt", SECOND),
    ("Mon,06 May 2024 07:08:09 GMT", SECOND),
    ("Monday, 6 May 2024 07:08:09 UT", SECOND),
    ("Monday, 06-May-24 07:08:09 GMT", SECOND),
    ("Fri, 06 May 2024 07:08:09 GMT", SECOND),
    ("06 May 2024 07:08:09 Z", SECOND),
    ("6 May 24 07:08:09", SECOND),
    ("6 May 99 07:08:09 PDT", moment(1999, 5, 6, 7, 8, 9, hours=-7)),
    ("Mon, 06 May 2024 07:08:09 +0530", moment(2024, 5, 6, 7, 8, 9, hours=5.5)),
    ("Mon, 06 May 2024 07:08:09 -0000", SECOND),
    ("Mon, 06 May 2024 07:08:09 EST", moment(2024, 5, 6, 7, 8, 9, hours=-5)),
    ("Mon, 06 May 2024 07:08:09 EDT", moment(2024, 5, 6, 7, 8, 9, hours=-4)),
    ("Mon, 06 May 2024 07:08:09 CST", moment(2024, 5, 6, 7, 8, 9, hours=-6)),
    ("Mon, 06 May 2024 07:08:09 MDT", moment(2024, 5, 6, 7, 8, 9, hours=-6)),
    ("Mon, 06 May 2024 07:08:09 PST", moment(2024, 5, 6, 7, 8, 9, hours=-8)),
    ("Mon, 06 May 2024 07:08:09 CEST", moment(2024, 5, 6, 7, 8, 9, hours=2)),
    ("Mon, 06 May 2024 07:08:09 GMT+0200", moment(2024, 5, 6, 7, 8, 9, hours=2)),
    ("Mon, 06 May 2024 07:08:09 XYZ", SECOND),
    ("Mon, 06 May 2024", DAY),
    ("6 May 2024", DAY),
    ("6th May 2024", DAY),
    ("06-May-2024 07:08:09", SECOND),
    ("May 6, 2024", DAY),
    ("May 6th, 2024", DAY),
    ("May 6, 2024 7:08 AM", MINUTE),
    ("Sept 6, 2024", moment(2024, 9, 6)),
    ("Mon May  6 07:08:09 2024", SECOND),
    ("Mon May 06 07:08:09 UTC 2024", SECOND),
    ("Mon May  6 07:08:09 EST 2024", moment(2024, 5, 6, 7, 8, 9, hours=-5)),
]
"""As feeds have it: RFC 822 and its kin, and the clock of C."""


@pytest.mark.parametrize(("text", "expected"), [*W3C, *MIDNIGHTS, *OTHER_NUMBERS, *MAIL])
def test_a_date_becomes_an_aware_moment(text: str, expected: datetime) -> None:
    found = parse_lastmod(text)

    assert found is not None
    assert (found, found.utcoffset()) == (expected, expected.utcoffset())


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-", "1", "yesterday", "blah", "now()", "{{ date }}", "NaN"),
        *("0000-00-00", "0000-01-01", "2024-13-01", "2024-00-06", "2024-02-30", "2023-02-29"),
        *("2023-366", "2024-367", "2024-000", "20241306", "2024-05-06-07"),
        *("2024-05-06T25:00:00Z", "2024-05-06T24:00:01Z", "2024-05-06T07:60Z"),
        *("2024-05-06T07:08:60Z", "2024-05-06T07:08:61Z", "2024-05-06 13:00 PM"),
        *("2024-05-06T07:08:09+24:00", "2024-05-06T07:08:09+00:60", "2024-05-06T07:08:09+99:00"),
        *("2024-05-06T", "2024-05-06TZ", "2024-05-06T07:08:09ZZ", "2024-05-06T07:08:09Z."),
        *("-2024-05-06", "+2024-05-06", "2024-05/06", "24-05-06", "2024-W19-1"),
        *("Mon, 99 May 2024 07:08:09 GMT", "Mon, 31 Feb 2024 07:08:09 GMT", "6 Mai 2024"),
        *("12 Dec 0000 00:00:00 GMT", "6 May 124 07:08:09"),
        # Nobody can tell which is the month, and a number alone is no date.
        *("06/05/2024", "06.05.2024", "1714979289", "1714979289000"),
        # No place in the calendar once in UTC.
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "9999-12-31T24:00:00Z"),
        *("Fri, 31 Dec 9999 23:59:59 -1400",),
        # Digits and dashes of other scripts.
        *("٢٠٢٤-٠٥-٠٦", "２０２４-０５-０６", "2024-05-0６", "2024\u201005\u201006"),
        *("9" * 5000, "2024-05-06" + " " * 5000 + "07:08", "\ud800", "2024-05-06\x0007:08"),
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_lastmod(text) is None


DATE_LIKE = st.text(alphabet="0123456789-:/.,+TZ GMTMayMon\u0666\u00a0", max_size=40)


@given(st.one_of(st.text(max_size=80), DATE_LIKE))
def test_no_text_breaks_it_and_what_comes_out_can_be_stored(text: str) -> None:
    found = parse_lastmod(text)

    assert found is None or found.astimezone(UTC).tzinfo is UTC


@given(
    st.datetimes(
        min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
    )
)
def test_what_is_written_as_it_should_be_is_read_as_it_was(when: datetime) -> None:
    mailed = when.replace(microsecond=0)

    assert parse_lastmod(when.isoformat()) == when
    assert parse_lastmod(when.isoformat(" ")) == when
    assert parse_lastmod(f"{mailed:%a, %d %b} {when.year:04} {mailed:%H:%M:%S} GMT") == mailed
