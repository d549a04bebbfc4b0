"""Take an address apart: its host, its path, and the folders that many addresses share."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from scrapersky.scraper.page_classes.slugs import (
    Match,
    Word,
    folded,
    match,
    slug_of_segment,
    unquoted,
)
from scrapersky.scraper.page_classes.words import LANGUAGE_NAMES, PageClass, of_addresses

MAX_PATH_CHARACTERS = 1_000
"""No page that people look for has a longer path."""

CLOSED = frozenset((PageClass.blog, PageClass.product, PageClass.category, PageClass.other))
"""Whatever lies below such a folder belongs to it, whatever its name."""

_SHOP = frozenset((PageClass.product, PageClass.category))
INDEX_FILES = ("index.", "default.")
_YEARS = ("19", "20")
_MAX_PREFIXES = 2
MAX_PREFIX_CHARACTERS = max(map(len, LANGUAGE_NAMES))

_LANGUAGES = of_addresses("languages")
_COUNTRIES = of_addresses("countries")
_PAGE_ENDINGS = of_addresses("page_endings")
_PAGE_NUMBER_FOLDERS = of_addresses("page_number_folders")
_FOLDERS_OF_WHOLE_SITES = of_addresses("folders_of_whole_sites")
"""Closed folders that a whole site may lie in, with pages about itself: `/shop/impressum`."""


class Folder(NamedTuple):
    """The segments before the last one, which many addresses share."""

    depth: int
    language: str
    is_front: bool
    """Nothing but prefixes: what follows may be one too."""
    is_dated: bool
    numbers_pages: bool
    closed_by: Word | None = None
    """The blog, shop or archive that all below belongs to."""
    may_hold_site: bool = False
    parent: Word | None = None
    """The nearest segment that names a page."""
    steps_below: int = 0


def host_and_path(rest: str) -> tuple[str, str]:
    if rest[:1] == "/":
        if rest[:2] != "//":
            return "", rest
        start = 2
    else:
        scheme = rest.find("://")
        if scheme < 0:
            return "", rest
        start = scheme + 3
    slash = rest.find("/", start)
    if slash < 0:
        return rest[start:].lower(), ""
    return rest[start:slash].lower(), rest[slash:]


def readable(path: str) -> str:
    path = path[:MAX_PATH_CHARACTERS]
    if "%" in path:
        path = unquoted(path)
    path = path.lower() if path.isascii() else folded(path)
    if ";" in path:
        path = path.partition(";")[0]
    return path.rstrip("/ ")


def prefix_language(segment: str) -> str | None:
    """The language of a prefix such as `de`, `pt-br` or `english`; empty for a country's: `us`."""
    if len(segment) == 2:
        return segment if segment in _LANGUAGES else "" if segment in _COUNTRIES else None
    if len(segment) in (5, 6, 7) and segment[2] in "-_":
        first, second = segment[:2], segment[3:]
        if first in _LANGUAGES:
            return first if second.isalnum() and len(second) < 5 else None
        return second if first in _COUNTRIES and second in _LANGUAGES else None
    return LANGUAGE_NAMES.get(segment)


@lru_cache(maxsize=8192)
def folder_of(directory: str) -> Folder:
    segments = [each for each in directory.split("/") if each and not each.startswith(INDEX_FILES)]
    languages = _prefixes(segments)
    segments = segments[len(languages) :]
    folder = Folder(
        depth=len(segments),
        language=next((each for each in languages if each), ""),
        is_front=not segments and len(languages) < _MAX_PREFIXES,
        is_dated=_are_dated(segments),
        numbers_pages=bool(segments) and segments[-1] in _PAGE_NUMBER_FOLDERS,
    )
    words = [match(slug_of_segment(without_ending(each))) for each in segments]
    return _with_words(folder, words) if any(words) else folder


def _with_words(folder: Folder, words: list[Match | None]) -> Folder:
    closed_by = _closing(words)
    parent, steps_below = _parent(words)
    return folder._replace(
        closed_by=closed_by,
        may_hold_site=closed_by is parent
        and steps_below == 1
        and closed_by is not None
        and closed_by.slug in _FOLDERS_OF_WHOLE_SITES,
        parent=parent,
        steps_below=steps_below,
    )


def _prefixes(segments: list[str]) -> list[str]:
    found = []
    for segment in segments[:_MAX_PREFIXES]:
        language = prefix_language(segment)
        if language is None:
            break
        found.append(language)
    return found


def _closing(words: list[Match | None]) -> Word | None:
    """The first closed folder; of a shop's folders, the one that says most."""
    closing: Word | None = None
    for seen in words:
        if seen is None or seen.word.page_class not in CLOSED:
            continue
        if closing is None or (closing.page_class in _SHOP and seen.word.page_class in _SHOP):
            closing = seen.word
    return closing


def _parent(words: list[Match | None]) -> tuple[Word | None, int]:
    for steps, seen in enumerate(reversed(words), 1):
        if seen is not None and not seen.word.weak and seen.word.page_class is not PageClass.home:
            return seen.word, steps
    return None, 0


def _is_year(segment: str) -> bool:
    return len(segment) == 4 and segment.startswith(_YEARS) and segment.isdigit()


def _are_dated(segments: list[str]) -> bool:
    """A year at the start, or one with a month behind it."""
    for at, segment in enumerate(segments):
        if len(segment) == 4 and _is_year(segment):
            month = segments[at + 1] if at + 1 < len(segments) else ""
            return at == 0 or (len(month) <= 2 and month.isdigit())
    return False


def without_ending(segment: str) -> str:
    name, dot, ending = segment.rpartition(".")
    return name if dot and ending in _PAGE_ENDINGS else segment


def starts_with_date(segment: str) -> bool:
    """`2024`, `2024-05-17-our-post`, `2024_05.html`."""
    if not segment.startswith(_YEARS) or not _is_year(segment[:4]):
        return False
    return len(segment) == 4 or (segment[4] in "-_." and segment[5:7].isdigit())
