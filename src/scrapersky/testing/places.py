"""The fake map behind the providers, planned failures, and the bill of requests."""

from __future__ import annotations

import hashlib
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Any

from aiohttp import web

from scrapersky.scraper.providers import geography
from scrapersky.scraper.providers.model import Area, OperationalStatus
from scrapersky.scraper.providers.prices import get_total_price


@dataclass(frozen=True)
class RecordedRequest:
    """Request as received."""

    service: str
    method: str
    """`SearchText` or `GetPlace`; the path for other services."""
    sku: str | None
    """None if the request was rejected before its SKU was determined."""
    page: int
    """Page number from 1; always 1 for requests without pages."""
    status: int
    """0 if the connection was dropped."""
    billed: bool
    text: str
    """Search text or place id."""
    mask: str = ""
    area: str = ""


@dataclass
class Bill:
    """Bill for successful requests, with free tiers and bands as in the price list."""

    free_tier: bool = True
    requests: list[RecordedRequest] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    """Requests by SKU made earlier in the month."""

    def count(
        self,
        *,
        sku: str | None = None,
        method: str | None = None,
        page: int | None = None,
        billed: bool | None = None,
        service: str | None = None,
    ) -> int:
        """Count the requests that match all given values."""
        filters = {"sku": sku, "method": method, "page": page, "billed": billed, "service": service}
        conditions = {name: value for name, value in filters.items() if value is not None}
        return sum(
            all(getattr(each, name) == conditions[name] for name in conditions)
            for each in self.requests
        )

    @property
    def billed(self) -> Counter[str]:
        """Billed requests by SKU, including free SKUs."""
        return Counter(each.sku for each in self.requests if each.billed and each.sku)

    @property
    def paid(self) -> int:
        """Number of requests of paid SKUs, including those within the free tier."""
        return sum(count for sku, count in self.billed.items() if not sku.endswith(".ids"))

    @property
    def usd(self) -> Decimal:
        return sum(
            (
                get_total_price(sku, count, already=self.before[sku], free_tier=self.free_tier)
                for sku, count in self.billed.items()
            ),
            Decimal(0),
        )


_WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class FakePlace:
    """Business on the map. Each provider decides which facts to return."""

    name: str | None
    latitude: float
    longitude: float
    types: tuple[str, ...] = ("bakery",)
    """Google's types; the first is the primary type."""
    category: str = "Bakery"
    words: tuple[str, ...] = ()
    """Additional search words."""
    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    region: str | None = None
    country: str = "DE"
    phone: str | None = None
    """International format with spaces: `+49 341 123456`."""
    phone_national: str | None = None
    website: str | None = None
    email: str | None = None
    rating: float | None = None
    reviews_count: int | None = None
    price_level: int | None = None
    status: OperationalStatus = OperationalStatus.OPERATIONAL
    open_now: bool = True
    always_open: bool = False
    is_service_area: bool = False
    moved_to: str | None = None
    gone: bool = False
    """Whether searches no longer find it and its id is invalid."""
    place_id: str = ""
    """Google's place id. Derived from the place if empty."""
    osm_tags: Mapping[str, str] | None = None
    """Tags that override the derived ones. None if OpenStreetMap does not have the place."""
    osm_type: str = "node"
    osm_id: int = 0
    google: bool = True
    """Whether Google knows it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Overrides for Google's JSON, to test unusual values."""

    def __post_init__(self) -> None:
        digest = hashlib.blake2b(
            f"{self.name}|{self.latitude}|{self.longitude}|{self.types}".encode(), digest_size=18
        )
        if not self.place_id:
            object.__setattr__(self, "place_id", "ChIJ" + digest.hexdigest()[:23])
        if not self.osm_id:
            object.__setattr__(self, "osm_id", int(digest.hexdigest()[:10], 16))

    @cached_property
    def search_words(self) -> frozenset[str]:
        return frozenset(
            iter_stems(" ".join((self.name or "", self.category, *self.types, *self.words)))
        )


@dataclass(frozen=True)
class FakeArea:
    """Town or other named area."""

    name: str
    area: Area
    country: str = "DE"
    osm_id: int = 62_000
    also_called: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(normalize_text(each) for each in (self.name, *self.also_called))


@dataclass
class FakeMap:
    """Places and areas known to the fake providers."""

    places: Sequence[FakePlace] = ()
    areas: Sequence[FakeArea] = ()

    def find_area(self, text: str) -> FakeArea | None:
        """Find an area by name, ignoring the text after a comma."""
        names = {normalize_text(text), normalize_text(text.partition(",")[0])}
        return next((each for each in self.areas if each.names & names), None)

    def iter_matching(self, what: str, area: Area | None) -> Iterator[FakePlace]:
        """Yield places in map order whose words include all words of the query."""
        stems = set(iter_stems(what))
        for each in self.places:
            inside = area is None or geography.contains(area, each.latitude, each.longitude)
            if inside and stems and stems <= each.search_words:
                yield each


def normalize_text(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def iter_stems(text: str) -> Iterable[str]:
    """Yield words for comparison, without accents and roughly without plural endings."""
    for word in normalize_text(text.replace("_", " ")).split():
        yield _strip_plural(word)


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("es", "s", "en", "n"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def scatter(
    count: int, area: Area, *, seed: int = 1, city: str = "Leipzig", **same: Any
) -> tuple[FakePlace, ...]:
    """Generate `count` places, denser towards the centre. The result depends only on the seed."""
    chance = random.Random(seed)
    middle = geography.get_centre(area)
    half_high = (area.north - area.south) / 2
    half_wide = geography.width_degrees(area) / 2
    return tuple(
        FakePlace(
            **{
                "name": f"Bakery {seed}-{number}",
                "latitude": middle.latitude + half_high * _draw_offset(chance),
                "longitude": geography.wrap_longitude(
                    middle.longitude + half_wide * _draw_offset(chance)
                ),
                "street": "Hauptstraße",
                "house_number": str(number),
                "postal_code": f"{4100 + number % 300:05}",
                "city": city,
                "phone": f"+49 341 {2_000_000 + number}",
                "website": f"http://bakery-{seed}-{number}.example/",
                "rating": round(3 + chance.random() * 2, 1),
                "reviews_count": chance.randrange(1, 900),
                **same,
            }
        )
        for number in range(1, count + 1)
    )


def _draw_offset(chance: random.Random) -> float:
    """Return a value from -0.98 to 0.98, clear of the border, where rounding would matter."""
    return max(-0.98, min(0.98, chance.gauss(0, 0.4)))


class ProviderService(StrEnum):
    GOOGLE = "google"
    NOMINATIM = "nominatim"
    OVERPASS = "overpass"


class FailureMode(StrEnum):
    MINUTE_QUOTA = "minute_quota"
    DAY_QUOTA = "day_quota"
    UNNAMED_QUOTA = "unnamed_quota"
    """429 without the name of the quota."""
    KEY_INVALID = "key_invalid"
    NO_KEY = "no_key"
    SERVICE_DISABLED = "service_disabled"
    KEY_BLOCKED = "key_blocked"
    """Key without access to this API."""
    ADDRESS_BLOCKED = "address_blocked"
    REFERRER_BLOCKED = "referrer_blocked"
    BILLING_OFF = "billing_off"
    FORBIDDEN = "forbidden"
    """403 without a reason."""
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    """503, with Retry-After if given."""
    SLOW = "slow"
    """No response until `release()`."""
    WEB_PAGE = "web_page"
    NOT_JSON = "not_json"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    REDIRECT = "redirect"
    CUT = "cut"
    """Connection dropped without a response."""
    REPEATED_TOKEN = "repeated_token"  # noqa: S105
    """The next page's token equals the one that was sent."""
    CHANGED = "changed"
    """The result list has shifted by one since the previous page: one place repeats, one is
    missing.
    """
    REMARK = "remark"
    """Overpass: 200 with a remark that the query timed out."""
    TOO_BUSY = "too_busy"
    """Overpass: 504."""
    ODD_PLACES = "odd_places"
    """Places with values of the wrong types."""


@dataclass
class PlannedFailure:
    trouble: FailureMode
    service: ProviderService
    at: int | None
    method: str | None
    left: int | None
    """Remaining occurrences, or None if unlimited."""
    retry_after: int | None

    def matches(self, service: ProviderService, number: int, method: str) -> bool:
        if service is not self.service or self.left == 0:
            return False
        if self.method is not None and self.method != method:
            return False
        return self.at is None or number >= self.at


@dataclass
class FailurePlan:
    """Planned failures in order. Each request triggers at most one."""

    planned: list[PlannedFailure]

    def plan(self, planned: PlannedFailure) -> None:
        self.planned.append(planned)

    def take(self, service: ProviderService, number: int, method: str) -> PlannedFailure | None:
        for each in self._iter_pending():
            if each.matches(service, number, method):
                each.left = None if each.left is None else each.left - 1
                return each
        return None

    def _iter_pending(self) -> Iterator[PlannedFailure]:
        return (each for each in self.planned if each.left != 0)


_CAPTIVE_PORTAL = (
    "<!doctype html><html><head><title>Sign in</title></head><body>Guest network</body></html>"
)


def build_broken_response(planned: PlannedFailure, document: Any) -> web.Response | None:
    """Build a broken response, or return None if the failure mode is not one."""
    match planned.trouble:
        case FailureMode.WEB_PAGE:
            return web.Response(text=_CAPTIVE_PORTAL, content_type="text/html")
        case FailureMode.NOT_JSON:
            return web.Response(text="OK", content_type="text/plain")
        case FailureMode.EMPTY:
            return web.Response(body=b"", content_type="application/json")
        case FailureMode.TRUNCATED:
            text = json.dumps(document)
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        case FailureMode.REDIRECT:
            return web.Response(status=302, headers={"Location": "http://elsewhere.example/"})
    return None
