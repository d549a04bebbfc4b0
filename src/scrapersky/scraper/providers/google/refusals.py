"""Turn Google's complaints into the failures they mean, with a sentence for the operator."""

from __future__ import annotations

from datetime import UTC, datetime

from scrapersky.scraper.providers.failures import (
    BadRequest,
    DayQuota,
    KeyRefused,
    MinuteQuota,
    PagingBroken,
    PlaceGone,
    ProviderDown,
    ProviderFailed,
)
from scrapersky.scraper.providers.google.complaints import Complaint
from scrapersky.scraper.providers.pacific import next_pacific_midnight

MINUTE_SECONDS = 60.0
"""A quota per minute is full again by then."""

NO_KEY = "Google was asked without a key: set GOOGLE_PLACES_API_KEY."
_INVALID = (
    "Google does not know the key in GOOGLE_PLACES_API_KEY: copy it again from the credentials "
    "page of the Google Cloud console."
)
_EXPIRED = "The key in GOOGLE_PLACES_API_KEY has expired: renew it in the Google Cloud console."
_DISABLED = (
    "Places API (New) is not enabled for the key's project: enable it in the API library of the "
    "Google Cloud console, then wait a few minutes."
)
_OTHER_APIS = (
    "The key is restricted to other APIs: add Places API (New) to the key's API restrictions in "
    "the Google Cloud console."
)
_ADDRESS = (
    "The key may not be used from this machine's IP address: add the address to the key's "
    "application restrictions in the Google Cloud console."
)
_REFERRER = (
    "The key is meant for web pages (restricted by referrer), and a server cannot use it: make a "
    "key that is restricted by IP address in the Google Cloud console."
)
_APP = (
    "The key is meant for a mobile app, and a server cannot use it: make a key that is restricted "
    "by IP address in the Google Cloud console."
)
_BILLING = (
    "Billing is off for the key's project: link a billing account to it in the Google Cloud "
    "console."
)
_SUSPENDED = (
    "The key's project is suspended or was deleted: look at its notices in the Google Cloud "
    "console, or use a key of another project."
)

_BY_REASON = {
    "API_KEY_INVALID": _INVALID,
    "SERVICE_DISABLED": _DISABLED,
    "SERVICE_NOT_VISIBLE": _DISABLED,
    "API_KEY_SERVICE_BLOCKED": _OTHER_APIS,
    "API_KEY_IP_ADDRESS_BLOCKED": _ADDRESS,
    "API_KEY_HTTP_REFERRER_BLOCKED": _REFERRER,
    "API_KEY_ANDROID_APP_BLOCKED": _APP,
    "API_KEY_IOS_APP_BLOCKED": _APP,
    "BILLING_DISABLED": _BILLING,
    "BILLING_STATE_INACTIVE": _BILLING,
    "CONSUMER_SUSPENDED": _SUSPENDED,
    "CONSUMER_INVALID": _SUSPENDED,
    "PROJECT_INVALID": _SUSPENDED,
}
_BY_WORDS = (
    ("api key expired", _EXPIRED),
    ("api key not valid", _INVALID),
    ("api key not found", _INVALID),
    ("unregistered callers", NO_KEY),
    ("has not been used in project", _DISABLED),
    ("it is disabled", _DISABLED),
    ("billing", _BILLING),
    ("requests from ip address", _ADDRESS),
    ("referer", _REFERRER),
    ("referrer", _REFERRER),
    ("requests to this api", _OTHER_APIS),
    ("suspended", _SUSPENDED),
)
"""For answers that come without a reason."""
_PASSING = frozenset({"UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED", "UNKNOWN"})
_DEAD_ID = ("not a valid place id", "place id is no longer valid", "invalid place id")


def failure_of(
    complaint: Complaint, *, place_id: str | None, paging: bool, now: datetime | None = None
) -> ProviderFailed:
    """`place_id` where one place was asked for, `paging` where a further page was."""
    if complaint.http_status == 429 or complaint.status == "RESOURCE_EXHAUSTED":
        return _quota(complaint, now or datetime.now(UTC))
    if sentence := _about_the_key(complaint):
        return KeyRefused(sentence)
    if complaint.http_status >= 500 or complaint.status in _PASSING:
        return _trouble(complaint)
    if place_id is not None and _is_dead(complaint):
        return PlaceGone(f"Google knows no place with the id {place_id[:100]} any more.")
    if paging and _is_about_paging(complaint):
        return PagingBroken(f"Google does not give the next page: {_said(complaint)}")
    if complaint.http_status in (200, 408):
        return _trouble(complaint)
    return BadRequest(f"Google cannot make sense of the request: {_said(complaint)}")


def _quota(complaint: Complaint, now: datetime) -> ProviderFailed:
    where = f"{complaint.words} {complaint.quota.lower()}"
    if "per day" in where or "perday" in where or "1/d/" in where:
        until = next_pacific_midnight(now)
        return DayQuota(
            f"Google's quota for the day is used up; it begins anew at {until:%Y-%m-%d %H:%M} UTC. "
            "More can be asked for on the quota page of the Google Cloud console.",
            until=until,
        )
    wait = complaint.retry_after_seconds
    seconds = MINUTE_SECONDS if wait is None else wait
    return MinuteQuota(
        f"Google's quota per minute is used up; asked again after {seconds:.0f} seconds.",
        retry_after_seconds=seconds,
    )


def _about_the_key(complaint: Complaint) -> str | None:
    if complaint.http_status not in (400, 401, 403):
        return None
    if "api key expired" in complaint.words:
        return _EXPIRED
    for reason in complaint.reasons & _BY_REASON.keys():
        return _BY_REASON[reason]
    if complaint.http_status == 400 and "api key" not in complaint.words:
        return None
    for words, sentence in _BY_WORDS:
        if words in complaint.words:
            return sentence
    if complaint.http_status == 400:
        return None
    return f"Google does not let the key in GOOGLE_PLACES_API_KEY ask: {_said(complaint)}"


def _is_dead(complaint: Complaint) -> bool:
    if complaint.http_status == 404 and complaint.status in ("NOT_FOUND", ""):
        return True
    return complaint.http_status == 400 and any(each in complaint.words for each in _DEAD_ID)


def _is_about_paging(complaint: Complaint) -> bool:
    said = " ".join((complaint.words, *complaint.violations)).lower().replace("_", " ")
    return complaint.http_status == 400 and any(
        each in said for each in ("paging request", "page token", "pagetoken")
    )


def _trouble(complaint: Complaint) -> ProviderDown:
    return ProviderDown(
        f"Google is in trouble ({complaint.http_status}): {_said(complaint)}",
        retry_after_seconds=complaint.retry_after_seconds,
    )


def _said(complaint: Complaint) -> str:
    """In Google's words: the field that is wrong is often named in the details alone."""
    said = " ".join((complaint.message, *complaint.violations)) or complaint.status
    return said[:600] or f"it answered {complaint.http_status} and did not say why."
