"""Profiles on social platforms, as tags have them: an address, or a bare handle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scrapersky.scraper.contact_finder.profiles import profile_of
from scrapersky.scraper.providers.values import text_of

MOST_PROFILES = 20
_BASES = {
    "facebook": "https://www.facebook.com/",
    "instagram": "https://www.instagram.com/",
    "twitter": "https://x.com/",
    "x": "https://x.com/",
    "linkedin": "https://www.linkedin.com/company/",
    "youtube": "https://www.youtube.com/@",
    "tiktok": "https://www.tiktok.com/@",
    "pinterest": "https://www.pinterest.com/",
    "telegram": "https://t.me/",
    "xing": "https://www.xing.com/companies/",
    "vimeo": "https://vimeo.com/",
    "threads": "https://www.threads.net/@",
}
_HANDLE = re.compile(r"@?([\w.&'-]{2,100})")
_ADDRESS = re.compile(r"(?:https?:)?//|(?:[\w-]+\.)+[a-z]{2,}/", re.I)


def read_profiles(tags: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_profiles(tags)))[:MOST_PROFILES]


def _profiles(tags: Mapping[str, Any]) -> Iterator[str]:
    for platform, base in _BASES.items():
        for name in (f"contact:{platform}", platform):
            for value in (text_of(tags.get(name)) or "").split(";"):
                if url := _url(value.strip(), base):
                    yield url


def _url(value: str, base: str) -> str | None:
    """Its one spelling where it is a profile; whatever else stands there is none."""
    if _ADDRESS.match(value):
        found = profile_of(value)
    else:
        handle = _HANDLE.fullmatch(value)
        found = profile_of(base + handle[1]) if handle else None
    return found.url if found else None
