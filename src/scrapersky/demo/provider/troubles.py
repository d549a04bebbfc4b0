"""What goes wrong at a provider, on which request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Service(StrEnum):
    GOOGLE = "google"
    NOMINATIM = "nominatim"
    OVERPASS = "overpass"


class Trouble(StrEnum):
    MINUTE_QUOTA = "minute_quota"
    DAY_QUOTA = "day_quota"
    UNNAMED_QUOTA = "unnamed_quota"
    """A 429 that does not say of what."""
    KEY_INVALID = "key_invalid"
    NO_KEY = "no_key"
    SERVICE_DISABLED = "service_disabled"
    KEY_BLOCKED = "key_blocked"
    """For this API."""
    ADDRESS_BLOCKED = "address_blocked"
    REFERRER_BLOCKED = "referrer_blocked"
    BILLING_OFF = "billing_off"
    FORBIDDEN = "forbidden"
    """403 without a reason."""
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    """503 with Retry-After where one is given."""
    SLOW = "slow"
    """No answer until `release()`."""
    WEB_PAGE = "web_page"
    NOT_JSON = "not_json"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    REDIRECT = "redirect"
    CUT = "cut"
    """The connection is closed without an answer."""
    REPEATED_TOKEN = "repeated_token"  # noqa: S105
    """The token of the next page is the one that was sent."""
    CHANGED = "changed"
    """Its list moved on by one since the page before: a place comes twice, another not at all."""
    REMARK = "remark"
    """Overpass: 200, with a remark that the query ran out of time."""
    TOO_BUSY = "too_busy"
    """Overpass: 504."""
    ODD_PLACES = "odd_places"
    """The answer's places are of the wrong types."""


@dataclass
class Planned:
    trouble: Trouble
    service: Service
    at: int | None
    method: str | None
    left: int | None
    """How often it still happens; without end where it is nothing."""
    retry_after: int | None

    def strikes(self, service: Service, number: int, method: str) -> bool:
        if service is not self.service or self.left == 0:
            return False
        if self.method is not None and self.method != method:
            return False
        return self.at is None or number >= self.at


@dataclass
class Troubles:
    """In the order they were planned; each request meets one at most."""

    planned: list[Planned]

    def plan(self, planned: Planned) -> None:
        self.planned.append(planned)

    def due(self, service: Service, number: int, method: str) -> Planned | None:
        for each in self._open():
            if each.strikes(service, number, method):
                each.left = None if each.left is None else each.left - 1
                return each
        return None

    def _open(self) -> Iterator[Planned]:
        return (each for each in self.planned if each.left != 0)
