"""Prices, free requests and bands; Google's day and month."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.providers.prices import (
    PRICES_AS_OF,
    Price,
    get_daily_quota,
    get_minute_quota,
    get_next_pacific_midnight,
    get_next_pacific_month,
    get_pacific_day,
    get_pacific_month,
    get_price,
    get_sku,
    get_total_price,
    list_skus,
)

SEARCH = "text_search.enterprise"
LOS_ANGELES = ZoneInfo("America/Los_Angeles")


def test_the_prices_carry_their_date() -> None:
    assert date(2026, 1, 1) < PRICES_AS_OF < date(2027, 1, 1)


@pytest.mark.parametrize(
    ("already", "usd"),
    [
        (0, 0),
        (999, 0),
        (1_000, "0.035"),
        (99_999, "0.035"),
        (100_000, "0.028"),
        (500_000, "0.021"),
        (1_000_000, "0.0105"),
        (5_000_000, "0.00263"),
    ],
)
def test_a_request_costs_by_how_many_there_were(already: int, usd: str | int) -> None:
    price = get_price(SEARCH, already=already, free_tier=True)

    assert price == Price(Decimal(usd), is_free=usd == 0)


def test_without_the_free_ones_the_first_costs_as_any() -> None:
    assert get_price(SEARCH, already=0, free_tier=False).usd == Decimal("0.035")
    details = get_price("place_details.enterprise", already=0, free_tier=False)
    assert details.usd == Decimal("0.02")


@pytest.mark.parametrize("sku", ["text_search.ids", "place_details.ids"])
def test_ids_never_cost_anything(sku: str) -> None:
    assert get_price(sku, already=10**9, free_tier=False) == Price(Decimal(0), is_free=True)


def test_where_fewer_bands_are_known_the_last_price_goes_on() -> None:
    price = get_price("place_details.pro", already=9_000_000, free_tier=True)

    assert price.usd == Decimal("0.017")


@given(
    sku=st.sampled_from(list_skus()),
    already=st.integers(0, 3_000) | st.integers(99_000, 101_000),
    count=st.integers(0, 1_500),
    free_tier=st.booleans(),
)
def test_many_cost_what_each_costs(sku: str, already: int, count: int, free_tier: bool) -> None:
    one_by_one = sum(
        (get_price(sku, already=already + n, free_tier=free_tier).usd for n in range(count)),
        Decimal(0),
    )

    assert get_total_price(sku, count, already=already, free_tier=free_tier) == one_by_one


def test_cheaper_bands_are_never_dearer() -> None:
    for name in list_skus():
        usd = get_sku(name).usd
        assert list(usd) == sorted(usd, reverse=True)


def test_quotas_are_counted_by_method() -> None:
    assert (get_daily_quota("SearchText"), get_daily_quota("GetPlace")) == (75_000, 125_000)
    assert get_minute_quota("SearchText") == 600


moments = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))


@given(now=moments)
def test_the_day_is_that_of_california(now: datetime) -> None:
    assert get_pacific_day(now) == now.astimezone(LOS_ANGELES).date()
    assert get_pacific_month(now) == now.astimezone(LOS_ANGELES).date().replace(day=1)


@given(now=moments)
def test_the_next_day_begins_at_midnight_in_california(now: datetime) -> None:
    midnight = get_next_pacific_midnight(now)

    there = midnight.astimezone(LOS_ANGELES)
    assert (there.hour, there.minute, there.second) == (0, 0, 0)
    assert midnight > now
    assert (there.date() - now.astimezone(LOS_ANGELES).date()).days == 1


@given(now=moments)
def test_the_next_month_begins_on_its_first_day_in_california(now: datetime) -> None:
    there = get_next_pacific_month(now).astimezone(LOS_ANGELES)

    assert (there.day, there.hour) == (1, 0)
    assert get_next_pacific_month(now) > now
    assert (there.month - now.astimezone(LOS_ANGELES).month) % 12 == 1
