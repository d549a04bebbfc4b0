"""How technologies are recognised: `fingerprints.toml`, read and compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

STATE_CATEGORIES = frozenset({"challenge", "parking", "default page", "under construction"})
"""These say what a page is instead of a site."""


@dataclass(frozen=True)
class Example:
    """Something that must be recognised."""

    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    version: str | None = None


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What gives one technology away; the file explains each of these."""

    name: str
    category: str
    also: str | None
    generator: re.Pattern[str] | None
    urls: tuple[str, ...]
    html: tuple[str, ...]
    text: tuple[str, ...]
    headers: tuple[tuple[str, re.Pattern[str]], ...]
    cookies: tuple[str, ...]
    hosts: tuple[str, ...]
    version: re.Pattern[str] | None
    implies: tuple[str, ...]
    examples: tuple[Example, ...]


@cache
def all_fingerprints() -> tuple[Fingerprint, ...]:
    source = files(__package__).joinpath("fingerprints.toml").read_text(encoding="utf-8")
    return tuple(_compiled(entry) for entry in tomllib.loads(source)["technology"])


@cache
def fingerprints_of(*categories: str) -> tuple[Fingerprint, ...]:
    return tuple(each for each in all_fingerprints() if each.category in categories)


@cache
def technologies() -> tuple[Fingerprint, ...]:
    return tuple(each for each in all_fingerprints() if each.category not in STATE_CATEGORIES)


def _compiled(entry: dict[str, Any]) -> Fingerprint:
    headers = entry.get("headers", {}).items()
    return Fingerprint(
        name=entry["name"],
        category=entry["category"],
        also=entry.get("also"),
        generator=_pattern(entry.get("generator")),
        urls=tuple(entry.get("urls", ())),
        html=tuple(entry.get("html", ())),
        text=tuple(entry.get("text", ())),
        headers=tuple((name, re.compile(text, re.IGNORECASE)) for name, text in headers),
        cookies=tuple(entry.get("cookies", ())),
        hosts=tuple(entry.get("hosts", ())),
        version=_pattern(entry.get("version")),
        implies=tuple(entry.get("implies", ())),
        examples=tuple(Example(**example) for example in entry["examples"]),
    )


def _pattern(text: str | None) -> re.Pattern[str] | None:
    return re.compile(text, re.IGNORECASE) if text else None
