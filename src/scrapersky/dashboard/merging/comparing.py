"""Two businesses side by side, fact by fact, with what is the same and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scrapersky.dashboard.wording import in_words
from scrapersky.models import LocalBusiness
from scrapersky.scraper.providers.geography import distance_m

SAME, DIFFERS, ONE_SIDED = "same", "differs", "only one"
MARKS = {SAME: "=", DIFFERS: "≠", ONE_SIDED: "·"}
"""Beside the words, for those who look fast; no colour alone says it."""


@dataclass(frozen=True)
class Line:
    """One fact of both."""

    label: str
    left: str | None
    right: str | None
    is_link: bool = False

    @property
    def verdict(self) -> str:
        if not self.left or not self.right:
            return ONE_SIDED
        return SAME if _plain(self.left) == _plain(self.right) else DIFFERS

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    @property
    def tone(self) -> str:
        return {SAME: "good", DIFFERS: "bad"}.get(self.verdict, "plain")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _kinds(business: LocalBusiness) -> str:
    return in_words(", ".join(business.categories[:6]))


def _rating(business: LocalBusiness) -> str | None:
    if business.rating is None:
        return None
    return f"{business.rating:.1f} of {business.reviews_count or 0:,} reviews"


FACTS: tuple[tuple[str, Callable[[LocalBusiness], Any]], ...] = (
    ("Name", lambda each: each.business_name),
    ("Kinds", _kinds),
    ("Address", lambda each: each.address),
    ("Phone", lambda each: each.phone or each.phone_raw),
    ("Website", lambda each: each.website_url),
    ("Site", lambda each: each.site_key),
    ("E-mails", lambda each: ", ".join(each.emails[:3])),
    ("Rating", _rating),
    ("In business", lambda each: in_words(each.business_status)),
)
LINKS = frozenset({"Website"})


def lines_of(left: LocalBusiness, right: LocalBusiness) -> Iterator[Line]:
    """What nobody knows of either is left out."""
    for label, read in FACTS:
        line = Line(label, read(left) or None, read(right) or None, label in LINKS)
        if line.left or line.right:
            yield line


def apart_by(left: LocalBusiness, right: LocalBusiness) -> str:
    """`40 m`; nothing where one of them has no place on the map."""
    points = [(each.latitude, each.longitude) for each in (left, right)]
    known = [(lat, lng) for lat, lng in points if lat is not None and lng is not None]
    if len(known) < len(points):
        return ""
    metres = distance_m(*known)
    return f"{metres:,.0f} m" if metres < 1_000 else f"{metres / 1_000:,.1f} km"
