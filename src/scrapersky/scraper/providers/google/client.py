"""Client for the Google Places API (New): requests, responses and their errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from scrapersky.redaction import register_secrets
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.responses import Response
from scrapersky.scraper.providers import errors
from scrapersky.scraper.providers.google.field_masks import DETAILS_FULL, SEARCH_FULL, FieldMask
from scrapersky.scraper.providers.google.places import parse_place
from scrapersky.scraper.providers.model import PlaceFacts, PlacePage, PlaceQuery
from scrapersky.scraper.providers.prices import get_next_pacific_midnight
from scrapersky.scraper.providers.values import as_list, as_mapping, parse_json, parse_text

# Responses and errors

_DELAY = re.compile(r"(\d{1,6})(?:\.\d{1,9})?s")


@dataclass(frozen=True, slots=True)
class GoogleError:
    http_status: int
    status: str
    """Status such as `RESOURCE_EXHAUSTED`, or an empty string."""
    message: str
    reasons: frozenset[str]
    """Reasons such as `API_KEY_INVALID`: the most reliable part of an error."""
    quota: str
    """Name of the exceeded quota, in whatever form Google gives it."""
    violations: tuple[str, ...]
    """Descriptions of invalid fields."""
    retry_after_seconds: float | None

    @property
    def words(self) -> str:
        return self.message.lower()


def parse_error(response: Response, document: Mapping[str, Any]) -> GoogleError | None:
    """Parse an error response. Return None if the response is successful."""
    if response.status == 200 and "error" not in document:
        return None
    error = as_mapping(document.get("error"))
    details = [as_mapping(each) for each in as_list(error.get("details"))]
    message = parse_text(error.get("message"), at_most=500)
    if message is None:  # as reported by OAuth
        message = (
            parse_text(document.get("error_description")) or parse_text(document.get("error")) or ""
        )
    return GoogleError(
        http_status=response.status,
        status=parse_text(error.get("status")) or "",
        message=message,
        reasons=frozenset(_iter_texts(details, "reason")),
        quota=" ".join(_iter_quotas(details)),
        violations=tuple(_iter_violations(details)),
        retry_after_seconds=_get_retry_delay(response, details),
    )


def _iter_texts(details: list[Mapping[str, Any]], name: str) -> Iterator[str]:
    for each in details:
        if text := parse_text(each.get(name)):
            yield text


def _iter_quotas(details: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in details:
        metadata = as_mapping(each.get("metadata"))
        for name in ("quota_unit", "quota_limit"):
            if text := parse_text(metadata.get(name)):
                yield text


def _iter_violations(details: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in details:
        for violation in as_list(each.get("fieldViolations"))[:5]:
            if text := parse_text(as_mapping(violation).get("description"), at_most=300):
                yield text


def _get_retry_delay(response: Response, details: list[Mapping[str, Any]]) -> float | None:
    if response.retry_after_seconds is not None:
        return response.retry_after_seconds
    delays = (_DELAY.fullmatch(each) for each in _iter_texts(details, "retryDelay"))
    return next((float(delay[1]) for delay in delays if delay), None)


MINUTE_QUOTA_SECONDS = 60.0
"""Time after which a per-minute quota is available again."""

NO_KEY = "No Google API key is set. Set GOOGLE_PLACES_API_KEY."
_INVALID_KEY = (
    "Google does not know the key in GOOGLE_PLACES_API_KEY. Copy it again from the credentials "
    "page of the Google Cloud console."
)
_EXPIRED_KEY = "The key in GOOGLE_PLACES_API_KEY has expired. Renew it in the Google Cloud console."
_API_DISABLED = (
    "Places API (New) is not enabled for the key's project. Enable it in the API library of the "
    "Google Cloud console, then wait a few minutes."
)
_API_RESTRICTED = (
    "The key is restricted to other APIs. Add Places API (New) to the key's API restrictions in "
    "the Google Cloud console."
)
_IP_RESTRICTED = (
    "The key may not be used from this machine's IP address. Add the address to the key's "
    "application restrictions in the Google Cloud console."
)
_REFERRER_RESTRICTED = (
    "The key is restricted to web pages (by referrer) and does not work on a server. Create a key "
    "restricted by IP address in the Google Cloud console."
)
_APP_RESTRICTED = (
    "The key is restricted to a mobile app and does not work on a server. Create a key restricted "
    "by IP address in the Google Cloud console."
)
_BILLING_DISABLED = (
    "Billing is disabled for the key's project. Link a billing account in the Google Cloud console."
)
_PROJECT_SUSPENDED = (
    "The key's project is suspended or deleted. Check its notices in the Google Cloud console, "
    "or use a key of another project."
)

_BY_REASON = {
    "API_KEY_INVALID": _INVALID_KEY,
    "SERVICE_DISABLED": _API_DISABLED,
    "SERVICE_NOT_VISIBLE": _API_DISABLED,
    "API_KEY_SERVICE_BLOCKED": _API_RESTRICTED,
    "API_KEY_IP_ADDRESS_BLOCKED": _IP_RESTRICTED,
    "API_KEY_HTTP_REFERRER_BLOCKED": _REFERRER_RESTRICTED,
    "API_KEY_ANDROID_APP_BLOCKED": _APP_RESTRICTED,
    "API_KEY_IOS_APP_BLOCKED": _APP_RESTRICTED,
    "BILLING_DISABLED": _BILLING_DISABLED,
    "BILLING_STATE_INACTIVE": _BILLING_DISABLED,
    "CONSUMER_SUSPENDED": _PROJECT_SUSPENDED,
    "CONSUMER_INVALID": _PROJECT_SUSPENDED,
    "PROJECT_INVALID": _PROJECT_SUSPENDED,
}
_BY_MESSAGE = (
    ("api key expired", _EXPIRED_KEY),
    ("api key not valid", _INVALID_KEY),
    ("api key not found", _INVALID_KEY),
    ("unregistered callers", NO_KEY),
    ("has not been used in project", _API_DISABLED),
    ("it is disabled", _API_DISABLED),
    ("billing", _BILLING_DISABLED),
    ("requests from ip address", _IP_RESTRICTED),
    ("referer", _REFERRER_RESTRICTED),
    ("referrer", _REFERRER_RESTRICTED),
    ("requests to this api", _API_RESTRICTED),
    ("suspended", _PROJECT_SUSPENDED),
)
"""Messages of errors that come without a reason."""
_TRANSIENT_STATUSES = frozenset(
    {"UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "UNKNOWN"}
)
_INVALID_ID_MESSAGES = ("not a valid place id", "place id is no longer valid", "invalid place id")


def build_failure(
    error: GoogleError, *, place_id: str | None, paging: bool, now: datetime | None = None
) -> errors.ProviderFailed:
    """Map an error to an exception.

    `place_id` is set for details requests, and `paging` for pages after the first.
    """
    if error.http_status == 429 or error.status == "RESOURCE_EXHAUSTED":
        return _build_quota_failure(error, now or datetime.now(UTC))
    if sentence := _describe_key_problem(error):
        return errors.KeyRefused(sentence)
    if error.http_status >= 500 or error.status in _TRANSIENT_STATUSES:
        return _build_outage(error)
    if place_id is not None and _is_gone(error):
        return errors.PlaceGone(f"Google no longer knows the place id {place_id[:100]}.")
    if paging and _is_about_paging(error):
        return errors.PagingBroken(f"Google did not return the next page: {_quote_error(error)}")
    if error.http_status in (200, 408):
        return _build_outage(error)
    return errors.BadRequest(f"Google rejected the request: {_quote_error(error)}")


def _build_quota_failure(error: GoogleError, now: datetime) -> errors.ProviderFailed:
    where = f"{error.words} {error.quota.lower()}"
    if "per day" in where or "perday" in where or "1/d/" in where:
        until = get_next_pacific_midnight(now)
        return errors.DayQuota(
            f"Google's daily quota is used up. It resets at {until:%Y-%m-%d %H:%M} UTC. "
            "You can request a higher quota in the Google Cloud console.",
            until=until,
        )
    wait = error.retry_after_seconds
    seconds = MINUTE_QUOTA_SECONDS if wait is None else wait
    return errors.MinuteQuota(
        f"Google's quota per minute is used up. Retrying in {seconds:.0f} s.",
        retry_after_seconds=seconds,
    )


def _describe_key_problem(error: GoogleError) -> str | None:
    if error.http_status not in (400, 401, 403):
        return None
    if "api key expired" in error.words:
        return _EXPIRED_KEY
    for reason in error.reasons & _BY_REASON.keys():
        return _BY_REASON[reason]
    if error.http_status == 400 and "api key" not in error.words:
        return None
    for words, sentence in _BY_MESSAGE:
        if words in error.words:
            return sentence
    if error.http_status == 400:
        return None
    return f"Google rejected the key in GOOGLE_PLACES_API_KEY: {_quote_error(error)}"


def _is_gone(error: GoogleError) -> bool:
    if error.http_status == 404 and error.status in ("NOT_FOUND", ""):
        return True
    return error.http_status == 400 and any(each in error.words for each in _INVALID_ID_MESSAGES)


def _is_about_paging(error: GoogleError) -> bool:
    text = " ".join((error.words, *error.violations)).lower().replace("_", " ")
    return error.http_status == 400 and any(
        each in text for each in ("paging request", "page token", "pagetoken")
    )


def _build_outage(error: GoogleError) -> errors.ProviderDown:
    return errors.ProviderDown(
        f"Google is temporarily unavailable ({error.http_status}): {_quote_error(error)}",
        retry_after_seconds=error.retry_after_seconds,
    )


def _quote_error(error: GoogleError) -> str:
    """Return Google's message and details. Often only the details name the invalid field."""
    text = " ".join((error.message, *error.violations)) or error.status
    return text[:600] or f"status {error.http_status} without a reason."


def parse_response(response: Response, *, place_id: str | None, paging: bool) -> Mapping[str, Any]:
    document = _parse_document(response)
    error = parse_error(response, document)
    if error is not None:
        raise build_failure(error, place_id=place_id, paging=paging)
    return document


def _parse_document(response: Response) -> Mapping[str, Any]:
    # A successful request may have been billed, even if its response was damaged in transit.
    billed = response.status == 200
    if 300 <= response.status < 400:
        raise errors.ProviderDown(
            "Google's API answered with an unexpected redirect. Check GOOGLE_PLACES_BASE_URL."
        )
    if response.truncated is not None:
        raise errors.ProviderDown(
            f"Google's response is incomplete: {response.truncated}", billed=billed
        )
    try:
        document = parse_json(response.body)
    except ValueError as error:
        raise _build_unreadable(response, billed=billed) from error
    if isinstance(document, list) and document:  # errors are sometimes wrapped in a list
        document = document[0]
    if not isinstance(document, dict):
        raise _build_unreadable(response, billed=billed)
    return document


def _build_unreadable(response: Response, *, billed: bool) -> errors.ProviderDown:
    start = response.body[:200].lstrip().lower()
    is_page = start.startswith((b"<!doctype", b"<html", b"<?xml"))
    what = "a web page" if is_page else "data that is not JSON" if start else "nothing"
    return errors.ProviderDown(
        f"Google answered {response.status} with {what}. A proxy may have replaced the response.",
        billed=billed,
        retry_after_seconds=response.retry_after_seconds,
    )


# Requests

PAGE_SIZE = 20
"""Google's maximum page size."""
MAX_RESULTS = 60
"""Google's maximum over all pages of a search. An area that reaches it may have more places."""


def build_search_body(query: PlaceQuery, page_token: str | None = None) -> dict[str, Any]:
    """Build the request body. Every page repeats it, because Google binds the token to it."""
    what = " ".join(query.business_type.split())
    where = " ".join((query.location or "").split())
    body: dict[str, Any] = {
        "textQuery": f"{what} in {where}" if where else what,
        "pageSize": PAGE_SIZE,
        "languageCode": query.language,
        # Otherwise businesses that visit their customers, such as plumbers, are left out.
        "includePureServiceAreaBusinesses": True,
    }
    if query.region:
        body["regionCode"] = query.region.upper()
    if query.area is not None:
        body["locationRestriction"] = {
            "rectangle": {
                "low": {"latitude": query.area.south, "longitude": query.area.west},
                "high": {"latitude": query.area.north, "longitude": query.area.east},
            }
        }
    if query.open_now:
        body["openNow"] = True
    if query.min_rating is not None:
        # Google accepts only halves and would round other values up.
        body["minRating"] = min(5.0, max(0.0, math.floor(query.min_rating * 2) / 2))
    if page_token is not None:
        body["pageToken"] = page_token
    return body


MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""About a hundred times the size of twenty places with all fields."""
MAX_PLACE_ID_CHARACTERS = 500


class GooglePlaces:
    """Client with an API key. The key is sent in one header and appears nowhere else."""

    def __init__(self, fetch: Fetcher, key: str, base_url: str) -> None:
        register_secrets([key])
        self._fetch = fetch
        self._key = key.strip()
        """Secrets read from files end with a line break, so it is stripped."""
        self._base_url = base_url.rstrip("/")

    def __repr__(self) -> str:
        return f"GooglePlaces({self._base_url!r})"

    async def search(
        self, query: PlaceQuery, *, mask: FieldMask = SEARCH_FULL, page_token: str | None = None
    ) -> PlacePage:
        """Fetch one page. Each is one request, billed as `mask.sku`."""
        body = json.dumps(build_search_body(query, page_token)).encode()
        answer = await self._request(
            "/v1/places:searchText", mask, body, paging=page_token is not None
        )
        if not isinstance(answer.get("places", []), list):
            raise errors.ProviderDown("Google's response contains no list of places.", billed=True)
        # `{}` means no results. Places without an id are counted as unreadable.
        read = [
            parse_place(each, has_details=mask.covers_details, region=query.region)
            for each in as_list(answer.get("places"))
        ]
        token = answer.get("nextPageToken")
        page = PlacePage(
            places=tuple(each for each in read if each is not None),
            next_token=token if isinstance(token, str) and token else None,
            unreadable=read.count(None),
        )
        if page.unreadable and not page.places:
            raise errors.ProviderDown("Google's response contains no valid places.", billed=True)
        if page.next_token is not None and page.next_token == page_token:
            raise errors.PagingBroken(
                "Google repeated its page token, so the remaining pages cannot be loaded.",
                page=page,
            )
        return page

    async def details(
        self,
        place_id: str,
        *,
        mask: FieldMask = DETAILS_FULL,
        language: str = "en",
        region: str | None = None,
    ) -> PlaceFacts:
        """Fetch one place. It keeps the requested id; `moved_to` is its new id, if it has one."""
        if parse_text(place_id, at_most=MAX_PLACE_ID_CHARACTERS) != place_id:
            raise errors.PlaceGone("The place id is not valid.")
        parameters = {"languageCode": parse_text(language) or "en"}
        if region:
            parameters["regionCode"] = parse_text(region.upper()) or ""
        path = f"/v1/places/{quote(place_id, safe='')}?{urlencode(parameters)}"
        answer = await self._request(path, mask, None, place_id=place_id)
        facts = parse_place(
            answer, asked_id=place_id, has_details=mask.covers_details, region=region
        )
        assert facts is not None, "a place with an id can always be parsed"
        return facts

    async def _request(
        self,
        path: str,
        mask: FieldMask,
        body: bytes | None,
        *,
        paging: bool = False,
        place_id: str | None = None,
    ) -> Mapping[str, Any]:
        try:
            response = await self._fetch.ask(
                self._base_url + path,
                body,
                headers=self._build_headers(mask),
                max_bytes=MAX_ANSWER_BYTES,
                to_provider=True,
            )
        except FetchFailed as error:
            raise errors.build_unreachable_error("Google", error) from error
        return parse_response(response, place_id=place_id, paging=paging)

    def _build_headers(self, mask: FieldMask) -> dict[str, str]:
        if not self._key:
            raise errors.KeyRefused(NO_KEY)
        if not (self._key.isascii() and self._key.isprintable()):
            raise errors.KeyRefused(
                "GOOGLE_PLACES_API_KEY contains characters that are not valid in a Google API key."
            )
        return {
            "X-Goog-Api-Key": self._key,
            "X-Goog-FieldMask": mask.header,
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
