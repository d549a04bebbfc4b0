"""The places and areas that the providers know; one map, told in the words of each of them."""

from __future__ import annotations

import hashlib
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from scrapersky.scraper.providers import geography
from scrapersky.scraper.providers.model import Area, Status

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
    status: Status = Status.OPERATIONAL
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
    def found_by(self) -> frozenset[str]:
        return frozenset(
            stems(" ".join((self.name or "", self.category, *self.types, *self.words)))
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
        return frozenset(plain(each) for each in (self.name, *self.also_called))


@dataclass
class FakeMap:
    """All that there is."""

    places: Sequence[FakePlace] = ()
    areas: Sequence[FakeArea] = ()

    def area_called(self, text: str) -> FakeArea | None:
        """By its name, whatever follows after a comma."""
        wanted = {plain(text), plain(text.partition(",")[0])}
        return next((each for each in self.areas if each.names & wanted), None)

    def matching(self, what: str, area: Area | None) -> Iterator[FakePlace]:
        """In the order they stand; each word that is looked for must be one of the place's."""
        wanted = set(stems(what))
        for each in self.places:
            inside = area is None or geography.contains(area, each.latitude, each.longitude)
            if inside and wanted and wanted <= each.found_by:
                yield each


def plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text.casefold())
    return " ".join(_WORD.findall("".join(c for c in folded if not unicodedata.combining(c))))


def stems(text: str) -> Iterable[str]:
    """Words as they are compared: without accents and, roughly, without their plural."""
    for word in plain(text.replace("_", " ")).split():
        yield _singular(word)


def _singular(word: str) -> str:
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
    middle = geography.centre(area)
    half_high = (area.north - area.south) / 2
    half_wide = geography.width_degrees(area) / 2
    return tuple(
        FakePlace(
            **{
                "name": f"Bakery {seed}-{number}",
                "latitude": middle.latitude + half_high * _denser_inside(chance),
                "longitude": geography.wrapped(
                    middle.longitude + half_wide * _denser_inside(chance)
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


def _denser_inside(chance: random.Random) -> float:
    """Between -0.98 and 0.98: never on the very border, where rounding would decide."""
    return max(-0.98, min(0.98, chance.gauss(0, 0.4)))
