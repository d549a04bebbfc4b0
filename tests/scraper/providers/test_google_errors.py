"""Google's errors, and the message for the operator."""

from __future__ import annotations

import json
import logging
import traceback
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.providers import PlaceQuery
from scrapersky.scraper.providers.errors import (
    BadRequest,
    DayQuota,
    KeyRefused,
    MinuteQuota,
    PagingBroken,
    PlaceGone,
    ProviderDown,
    ProviderFailed,
)
from scrapersky.scraper.providers.google import GooglePlaces
from scrapersky.scraper.providers.google.client import parse_response
from scrapersky.scraper.providers.google.field_masks import FieldMask
from scrapersky.scraper.providers.prices import get_next_pacific_midnight
from scrapersky.settings import SettingsSource, load_settings
from scrapersky.testing import DEMO_KEY, FailureMode, PlacesProvider
from tests.scraper.providers.canned import json_values, response, spoiled

QUERY = PlaceQuery("bakery", "Leipzig")
KEY = "AIza-secret-of-the-operator-1234"

REFUSALS = [
    (FailureMode.KEY_INVALID, KeyRefused, "does not know the key"),
    (FailureMode.NO_KEY, KeyRefused, "Set GOOGLE_PLACES_API_KEY"),
    (FailureMode.SERVICE_DISABLED, KeyRefused, "not enabled for the key's project"),
    (FailureMode.KEY_BLOCKED, KeyRefused, "restricted to other APIs"),
    (FailureMode.ADDRESS_BLOCKED, KeyRefused, "this machine's IP address"),
    (FailureMode.REFERRER_BLOCKED, KeyRefused, "restricted to web pages"),
    (FailureMode.BILLING_OFF, KeyRefused, "Billing is disabled"),
    (FailureMode.FORBIDDEN, KeyRefused, "The caller does not have permission"),
    (FailureMode.MINUTE_QUOTA, MinuteQuota, "per minute is used up"),
    (FailureMode.UNNAMED_QUOTA, MinuteQuota, "per minute is used up"),
    (FailureMode.DAY_QUOTA, DayQuota, "daily quota is used up"),
    (FailureMode.SERVER_ERROR, ProviderDown, r"temporarily unavailable \(500\)"),
    (FailureMode.UNAVAILABLE, ProviderDown, r"temporarily unavailable \(503\)"),
    (FailureMode.REDIRECT, ProviderDown, "redirect"),
]
BROKEN_ON_THE_WAY = [
    (FailureMode.WEB_PAGE, "with a web page"),
    (FailureMode.NOT_JSON, "data that is not JSON"),
    (FailureMode.EMPTY, "with nothing"),
    (FailureMode.TRUNCATED, "data that is not JSON"),
    (FailureMode.CUT, "closed the connection"),
]


@pytest.mark.parametrize(("trouble", "kind", "sentence"), REFUSALS)
async def test_each_refusal_is_its_own_failure_and_is_not_billed(
    google: GooglePlaces,
    provider: PlacesProvider,
    trouble: FailureMode,
    kind: type[ProviderFailed],
    sentence: str,
) -> None:
    provider.fail(trouble)

    with pytest.raises(kind, match=sentence) as caught:
        await google.search(QUERY)

    assert type(caught.value) is kind
    assert caught.value.permanent is (kind is KeyRefused)
    assert not caught.value.billed
    assert provider.bill.count(billed=True) == 0


@pytest.mark.parametrize(("trouble", "sentence"), BROKEN_ON_THE_WAY)
async def test_what_was_answered_and_broke_on_its_way_may_have_been_billed(
    google: GooglePlaces, provider: PlacesProvider, trouble: FailureMode, sentence: str
) -> None:
    provider.fail(trouble)

    with pytest.raises(ProviderDown, match=sentence) as caught:
        await google.search(QUERY)

    assert caught.value.billed
    assert not caught.value.permanent
    assert provider.bill.count(billed=True) == 1


async def test_an_answer_that_does_not_come_is_given_up_and_may_have_been_billed(
    provider: PlacesProvider,
) -> None:
    provider.fail(FailureMode.SLOW)
    async with loopback_fetcher(provider, timeout="2") as fetch:
        with pytest.raises(ProviderDown, match="did not answer within") as caught:
            await GooglePlaces(fetch, DEMO_KEY, provider.google_url).search(QUERY)

    assert caught.value.billed


async def test_a_provider_that_is_not_there_has_billed_nothing(provider: PlacesProvider) -> None:
    async with loopback_fetcher(provider) as fetch:
        with pytest.raises(ProviderDown, match="could not be reached") as caught:
            await GooglePlaces(fetch, DEMO_KEY, "http://127.0.0.1:1").search(QUERY)

    assert not caught.value.billed


async def test_the_next_try_after_a_passing_failure_succeeds(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.fail(FailureMode.SERVER_ERROR, times=2)
    for _ in range(2):
        with pytest.raises(ProviderDown):
            await google.search(QUERY)

    assert len((await google.search(QUERY)).places) == 20


async def test_retry_after_is_honoured(google: GooglePlaces, provider: PlacesProvider) -> None:
    provider.fail(FailureMode.MINUTE_QUOTA, retry_after=7)
    provider.fail(FailureMode.UNAVAILABLE, retry_after=9)

    with pytest.raises(MinuteQuota, match="in 7 s") as minute:
        await google.search(QUERY)
    with pytest.raises(ProviderDown) as down:
        await google.search(QUERY)

    assert minute.value.retry_after_seconds == 7
    assert down.value.retry_after_seconds == 9


async def test_the_day_ends_at_the_next_midnight_in_california(
    google: GooglePlaces, provider: PlacesProvider
) -> None:
    provider.set_daily_limit("SearchText", 1)
    await google.search(QUERY)
    before = get_next_pacific_midnight(datetime.now(UTC))

    with pytest.raises(DayQuota) as caught:
        await google.search(QUERY)

    assert caught.value.until in (before, before + timedelta(days=1))
    details = await google.details(provider.map.places[0].place_id)
    assert details.name, "the other method has a quota of its own"


async def test_a_mask_with_an_unknown_field_names_it(google: GooglePlaces) -> None:
    with pytest.raises(BadRequest, match=r"Cannot find matching fields for path 'places\.hue'"):
        await google.search(QUERY, mask=FieldMask("SearchText", ("places.id", "places.hue")))


async def test_nothing_to_look_for_is_a_bad_request(google: GooglePlaces) -> None:
    with pytest.raises(BadRequest, match="Empty text_query"):
        await google.search(PlaceQuery("  "))


@pytest.mark.parametrize(
    ("key", "sentence"),
    [("", "Set GOOGLE_PLACES_API_KEY"), ("a\nb-c-d-e", "characters"), ("schlüssel", "characters")],
)
async def test_a_key_that_cannot_be_one_is_not_sent(
    fetch: Fetcher, provider: PlacesProvider, key: str, sentence: str
) -> None:
    with pytest.raises(KeyRefused, match=sentence):
        await GooglePlaces(fetch, key, provider.google_url).search(QUERY)

    assert provider.counts.total() == 0


@pytest.mark.parametrize(
    "trouble",
    [*(each for each, *_ in REFUSALS), *(each for each, _ in BROKEN_ON_THE_WAY), FailureMode.SLOW],
)
async def test_the_key_is_in_no_error_and_no_log(
    caplog: pytest.LogCaptureFixture, trouble: FailureMode
) -> None:
    caplog.set_level(logging.DEBUG)
    async with PlacesProvider(keys=[KEY]) as provider:
        provider.fail(trouble)
        timeout = "2" if trouble is FailureMode.SLOW else "60"
        async with loopback_fetcher(provider, timeout=timeout) as fetch:
            google = GooglePlaces(fetch, KEY, provider.google_url)
            with pytest.raises(ProviderFailed) as caught:
                await google.search(QUERY)
        assert provider.counts.total() == 1

    error = caught.value
    said = [str(error), repr(error), repr(error.args), str(vars(error)), repr(google)]
    said += traceback.format_exception(error)
    assert not any(KEY in each for each in (*said, caplog.text))


def test_a_provider_that_says_the_key_aloud_is_not_repeated() -> None:
    message = f"The key {KEY} may not do that."
    GooglePlaces(fetch=None, key=KEY, base_url="")  # type: ignore[arg-type]

    failure = failure_in(400, {"message": message, "status": "INVALID_ARGUMENT"})

    assert KEY not in str(failure)
    assert KEY not in repr(failure)
    assert "may not do that" in str(failure)


def test_a_quota_is_told_by_its_unit_where_the_message_says_nothing() -> None:
    def exhausted(**metadata: str) -> ProviderFailed:
        details = [{"reason": "RATE_LIMIT_EXCEEDED", "metadata": metadata}]
        return failure_in(429, {"message": "Quota exceeded.", "details": details})

    assert isinstance(exhausted(quota_unit="1/d/{project}"), DayQuota)
    assert isinstance(exhausted(quota_limit="SearchTextRequestPerDayPerProject"), DayQuota)
    assert isinstance(exhausted(quota_unit="1/min/{project}"), MinuteQuota)
    assert isinstance(exhausted(), MinuteQuota)


def test_a_delay_in_the_details_is_honoured() -> None:
    failure = failure_in(429, {"message": "x", "details": [{"retryDelay": "31.5s"}]})

    assert isinstance(failure, MinuteQuota)
    assert failure.retry_after_seconds == 31


@pytest.mark.parametrize(
    ("status", "error", "kind", "sentence"),
    [
        (400, {"message": "API key expired. Please renew the API key."}, KeyRefused, "has expired"),
        (401, {"message": "Who?", "status": "UNAUTHENTICATED"}, KeyRefused, "Who?"),
        (403, {"message": "Consumer has been suspended."}, KeyRefused, "suspended"),
        (403, {"details": [{"reason": "API_KEY_IOS_APP_BLOCKED"}]}, KeyRefused, "mobile app"),
        (400, {"message": "Invalid value at 'x'", "status": "X"}, BadRequest, "Invalid value"),
        (404, {"message": "Method not found.", "status": "X"}, BadRequest, "Method not found"),
        (418, {}, BadRequest, "status 418"),
        (499, {"status": "DEADLINE_EXCEEDED"}, ProviderDown, "DEADLINE"),
        (200, {"message": "odd"}, ProviderDown, "odd"),
    ],
)
def test_answers_without_a_reason_are_told_by_their_words(
    status: int, error: dict[str, Any], kind: type[ProviderFailed], sentence: str
) -> None:
    failure = failure_in(status, error)

    assert type(failure) is kind
    assert sentence in str(failure)


def test_a_dead_id_is_told_in_either_way() -> None:
    gone = {"message": "The provided Place ID is no longer valid.", "status": "NOT_FOUND"}
    as_argument = {**gone, "status": "INVALID_ARGUMENT"}

    assert isinstance(failure_in(404, gone, place_id="x"), PlaceGone)
    assert isinstance(failure_in(400, as_argument, place_id="x"), PlaceGone)
    assert isinstance(failure_in(400, as_argument), BadRequest), "no place was asked for"


def test_errors_that_come_in_a_list_are_read() -> None:
    body = json.dumps([{"error": {"message": "API key not valid.", "code": 400}}]).encode()

    with pytest.raises(KeyRefused):
        parse_response(response(body, 400), place_id=None, paging=False)


def test_an_answer_that_was_cut_is_not_read() -> None:
    whole = response(b"{}", truncated="It did not finish within 5 s.")

    with pytest.raises(ProviderDown, match="did not finish") as caught:
        parse_response(whole, place_id=None, paging=False)

    assert caught.value.billed


AN_ERROR: dict[str, Any] = {
    "error": {
        "code": 429,
        "message": "Quota exceeded per day",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"reason": "API_KEY_INVALID", "metadata": {"quota_unit": "1/d/x"}, "retryDelay": "1s"},
            {"fieldViolations": [{"field": "x", "description": "y"}]},
        ],
    }
}


@given(
    document=spoiled(AN_ERROR) | json_values,
    status=st.sampled_from([200, 301, 400, 401, 403, 404, 408, 429, 500, 503]),
    place_id=st.sampled_from([None, "x"]),
    paging=st.booleans(),
)
def test_whatever_is_answered_is_a_document_or_a_named_failure(
    document: Any, status: int, place_id: str | None, paging: bool
) -> None:
    body = json.dumps(document).encode()

    with suppress(ProviderFailed):
        read = parse_response(response(body, status), place_id=place_id, paging=paging)
        assert status == 200
        assert isinstance(read, dict)


@given(body=st.binary(max_size=200), status=st.sampled_from([200, 400, 429, 500]))
def test_whatever_bytes_are_answered_are_a_document_or_a_named_failure(
    body: bytes, status: int
) -> None:
    with suppress(ProviderFailed):
        assert isinstance(parse_response(response(body, status), place_id=None, paging=False), dict)


def test_a_document_that_is_nested_without_end_is_a_named_failure() -> None:
    with pytest.raises(ProviderDown):
        parse_response(response(b"[" * 200_000), place_id=None, paging=False)


def failure_in(
    status: int, error: dict[str, Any], *, place_id: str | None = None
) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as caught:
        parse_response(
            response(json.dumps({"error": error}).encode(), status), place_id=place_id, paging=False
        )
    assert not isinstance(caught.value, PagingBroken)
    return caught.value


def loopback_fetcher(provider: PlacesProvider, *, timeout: str = "5") -> Fetcher:
    environ = {**provider.environment(), "FETCH_TIMEOUT_SECONDS": timeout}
    return Fetcher.from_settings(load_settings(SettingsSource(environ=environ, env_file=None)))
