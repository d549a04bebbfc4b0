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
    """One request as it arrived."""

    service: str
    method: str
    """`SearchText` or `GetPlace`; the path at the others."""
    sku: str | None
    """Nothing where the request was refused before it had one."""
    page: int
    """From 1 on; 1 for whatever has no pages."""
    status: int
    """0 where the connection was cut."""
    billed: bool
    text: str
    """The text that was searched for, or the id."""
    mask: str = ""
    area: str = ""


@dataclass
class Bill:
    """Successful requests only, each at its SKU; free ones and bands as in the price list."""

    free_tier: bool = True
    asked: list[RecordedRequest] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    """Requests by SKU that the account had made earlier in the month."""

    def count(
        self,
        *,
        sku: str | None = None,
        method: str | None = None,
        page: int | None = None,
        billed: bool | None = None,
        service: str | None = None,
    ) -> int:
        """Requests of that kind; of all kinds where nothing is said."""
        wanted = {"sku": sku, "method": method, "page": page, "billed": billed, "service": service}
        said = {name: value for name, value in wanted.items() if value is not None}
        return sum(all(getattr(each, name) == said[name] for name in said) for each in self.asked)

    @property
    def billed(self) -> Counter[str]:
        """By SKU, those that cost nothing among them."""
        return Counter(each.sku for each in self.asked if each.billed and each.sku)

    @property
    def paid(self) -> int:
        """Requests of a kind that costs money, free ones of the month included."""
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
    """A business as it is in the world; which provider tells what of it is theirs to decide."""

    name: str | None
    latitude: float
    longitude: float
    types: tuple[str, ...] = ("bakery",)
    """Google's words; the first is its main one."""
    category: str = "Bakery"
    words: tuple[str, ...] = ()
    """More words that people find it by."""
    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    region: str | None = None
    country: str = "DE"
    phone: str | None = None
    """International, with its spaces: `+49 341 123456`."""
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
    """Searches do not find it any more, and its id is dead."""
    place_id: str = ""
    """Google's; made of what the place is where it is left out."""
    osm_tags: Mapping[str, str] | None = None
    """As OpenStreetMap knows it, when it does; `None` there means: not at all."""
    osm_type: str = "node"
    osm_id: int = 0
    google: bool = True
    """Whether Google knows it."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Put over what Google says of it, for oddities."""

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
    """A town, or whatever else has a name and a place on the map."""

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
    """All that there is."""

    places: Sequence[FakePlace] = ()
    areas: Sequence[FakeArea] = ()

    def find_area(self, text: str) -> FakeArea | None:
        """By its name, whatever follows after a comma."""
        wanted = {normalize_text(text), normalize_text(text.partition(",")[0])}
        return next((each for each in self.areas if each.names & wanted), None)

    def iter_matching(self, what: str, area: Area | None) -> Iterator[FakePlace]:
        """In the order they stand; each word that is looked for must be one of the place's."""
        wanted = set(iter_stems(what))
        for each in self.places:
            inside = area is None or geography.contains(area, each.latitude, each.longitude)
            if inside and wanted and wanted <= each.search_words:
                yield each


def normalize_text(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def iter_stems(text: str) -> Iterable[str]:
    """Words as they are compared: without accents and, roughly, without their plural."""
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
    """So many places, denser in the middle as in towns, and the same ones every time."""
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
    """Between -0.98 and 0.98: never on the very border, where rounding would decide."""
    return max(-0.98, min(0.98, chance.gauss(0, 0.4)))


class ProviderService(StrEnum):
    GOOGLE = "google"
    NOMINATIM = "nominatim"
    OVERPASS = "overpass"


class FailureMode(StrEnum):
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
class PlannedFailure:
    trouble: FailureMode
    service: ProviderService
    at: int | None
    method: str | None
    left: int | None
    """How often it still happens; without end where it is nothing."""
    retry_after: int | None

    def matches(self, service: ProviderService, number: int, method: str) -> bool:
        if service is not self.service or self.left == 0:
            return False
        if self.method is not None and self.method != method:
            return False
        return self.at is None or number >= self.at


@dataclass
class FailurePlan:
    """In the order they were planned; each request meets one at most."""

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
    """In place of the document; nothing when this trouble is not of that kind."""
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
