"""Page classes and their words from `words.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files


class PageClass(StrEnum):
    home = "home"
    contact = "contact"
    about = "about"
    team = "team"
    legal = "legal"
    """Imprint, privacy or terms, according to the detail."""
    careers = "careers"
    services = "services"
    pricing = "pricing"
    menu = "menu"
    locations = "locations"
    press = "press"
    blog = "blog"
    """News, posts, their archives, tags, authors and feeds."""
    product = "product"
    category = "category"
    """Product listings."""
    other = "other"


IMPRINT = "imprint"
PRIVACY = "privacy"
TERMS = "terms"
WITH_CONTACT = "contact"
"""Detail of a careers or press page that names a contact."""

PageKind = tuple[PageClass, str | None]
"""A class with its detail."""

_PLAIN = "plain"
_ANY_LANGUAGE = "any"

_TABLES = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))

FILLERS = frozenset(_TABLES["beside"]["fillers"].split())
SPOILERS = frozenset(_TABLES["beside"]["spoilers"].split())
LANGUAGE_NAMES: dict[str, str] = _TABLES["language_names"]


def load_url_words(name: str) -> frozenset[str]:
    return frozenset(_TABLES["address"][name].split())


def list_phrases() -> Iterator[tuple[str, PageKind, str]]:
    """Yield every phrase (including its mark) with its kind and language; "" is any language."""
    for page_class, details in _TABLES["words"].items():
        for detail, by_language in details.items():
            kind = PageClass(page_class), None if detail == _PLAIN else detail
            for language, texts in by_language.items():
                for text in texts.split(","):
                    yield text.strip(), kind, "" if language == _ANY_LANGUAGE else language
