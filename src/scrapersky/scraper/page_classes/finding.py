"""Find the part of an address that says what its page is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from scrapersky.scraper.page_classes.addresses import (
    CLOSED,
    INDEX_FILES,
    MAX_PREFIX_CHARACTERS,
    Folder,
    folder_of,
    host_and_path,
    prefix_language,
    readable,
    starts_with_date,
    without_ending,
)
from scrapersky.scraper.page_classes.slugs import (
    CONTACT_OF,
    INDEX,
    Fit,
    Match,
    Word,
    match,
    slug_of_segment,
)
from scrapersky.scraper.page_classes.words import PageClass, of_addresses

MAX_QUERY_CHARACTERS = 500
MAX_PARAMETERS = 10

_FILE_ENDINGS = of_addresses("file_endings")
_FEED_ENDINGS = of_addresses("feed_endings")
_FEED_FILES = of_addresses("feed_files")
_PAGE_KEYS = of_addresses("page_keys")
_VISIT_KEYS = of_addresses("visit_keys")
_ABOUT_A_SITE = frozenset((PageClass.legal, PageClass.contact, PageClass.about))


class How(Enum):
    """What in an address said what the page is."""

    word = "path:"
    query = "query:"
    inside = "path: inside"
    below = "path: below"
    far_below = "path: far below"
    home = "path: home page"
    home_variant = "path: another home page"
    dated = "path: a date"
    page_number = "path: a page's number"
    file = "path: a file"
    nothing = "path: nothing known"

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self.is_below = sentence.endswith(" below")

    __hash__ = object.__hash__


class Found(NamedTuple):
    how: How
    word: Word | None
    fit: Fit | None
    depth: int
    has_query: bool
    language: str
    """By the address's prefix; empty when it has none."""
    host: str


_Seen = tuple[How, Word | None, Fit | None]

_NOTHING: _Seen = (How.nothing, None, None)
_DATED: _Seen = (How.dated, None, None)
_NUMBERED: _Seen = (How.page_number, None, None)
_FILE: _Seen = (How.file, None, None)


def find_in_url(url: str) -> Found:
    """What an address, absolute or not, says about its page; in linear time, and never raising."""
    rest, _, fragment = url.partition("#")
    rest, _, query = rest.partition("?")
    host, path = host_and_path(rest)
    if fragment[:1] == "/" or fragment[:2] == "!/":
        path = path.rstrip("/") + fragment.lstrip("!")
    directory, _, last = readable(path).rpartition("/")
    if last.startswith(INDEX_FILES) or last == "index":
        directory, _, last = directory.rstrip("/").rpartition("/")
    folder = folder_of(directory)
    if not last or (folder.is_front and _is_prefix(last)):
        language = prefix_language(last) or folder.language
        return Found(*_front(query, host, language), 0, bool(query), language, host)
    seen = _in_path(folder, last, host)
    if seen is _NOTHING and query:
        seen = _in_query(query, host) or seen
    return Found(*seen, folder.depth + 1, bool(query), folder.language, host)


def _is_prefix(last: str) -> bool:
    """`/de` is a home page; `/om` is Swedish for about, whatever else it may stand for."""
    if len(last) > MAX_PREFIX_CHARACTERS or last in INDEX:
        return False
    return prefix_language(last) is not None


# What it says


def _in_path(folder: Folder, last: str, host: str) -> _Seen:
    ending = last.rpartition(".")[2] if "." in last else ""
    if ending in _FILE_ENDINGS or ending in _FEED_ENDINGS:
        return _in_file(last, ending)
    if folder.closed_by is not None and not folder.may_hold_site:
        return How.inside, folder.closed_by, None
    if folder.is_dated or (folder.parent is None and starts_with_date(last)):
        return _DATED
    if folder.numbers_pages and last.isdigit():
        return _NUMBERED
    slug = slug_of_segment(without_ending(last) if ending else last)
    seen = match(slug, host)
    if folder.closed_by is not None:
        return _in_closed(folder.closed_by, seen)
    if seen is not None and (not folder.depth or seen.word.page_class is not PageClass.home):
        return How.word, *_with_parent(seen, folder.parent)
    if folder.parent is not None:
        how = How.below if folder.steps_below == 1 else How.far_below
        return how, folder.parent, None
    return _NOTHING


def _in_file(last: str, ending: str) -> _Seen:
    if ending in _FEED_ENDINGS or last in _FEED_FILES:
        return How.inside, INDEX["feed"], None
    return _FILE


def _in_closed(closed_by: Word, seen: Match | None) -> _Seen:
    """Inside a blog or a shop that may be a whole site: only its pages about itself stand out."""
    if seen is None or seen.fit is not Fit.whole or seen.word.page_class not in _ABOUT_A_SITE:
        return How.inside, closed_by, None
    return How.word, seen.word, seen.fit


def _with_parent(seen: Match, parent: Word | None) -> Match:
    """`/careers/contact` is the careers' contact page; `/about/our-history` hardly about us."""
    if parent is None:
        return seen
    if seen.word.page_class is parent.page_class:
        return seen._replace(fit=Fit.among_known) if seen.fit is Fit.whole else seen
    if seen.word.page_class is PageClass.contact:
        return seen._replace(word=CONTACT_OF.get(parent.page_class, seen.word))
    return seen


def _front(query: str, host: str, language: str) -> _Seen:
    """The home page, one of its languages, or what a query makes of it."""
    if not query:
        return How.home_variant if language else How.home, None, None
    if _is_only_about_visit(query):
        return How.home_variant, None, None
    return _in_query(query, host) or _NOTHING


def _is_only_about_visit(query: str) -> bool:
    keys = {pair.partition("=")[0].lower() for pair in query[:MAX_QUERY_CHARACTERS].split("&")}
    return all(not key or key in _VISIT_KEYS or key.startswith("utm_") for key in keys)


def _in_query(query: str, host: str) -> _Seen | None:
    for pair in query[:MAX_QUERY_CHARACTERS].split("&", MAX_PARAMETERS):
        key, _, value = pair.partition("=")
        key = key.lower()
        if key in _PAGE_KEYS:
            seen = None if value.isdigit() else match(_slug_of_value(value), host)
            if seen is not None:
                return How.query, seen.word, seen.fit
        elif value and (word := INDEX.get(key)) and word.page_class in CLOSED:
            return How.query, word, None
    return None


def _slug_of_value(value: str) -> str:
    """`information%2Fcontact` → contact, `com_contact` → contact."""
    last = readable(value).rpartition("/")[2]
    return slug_of_segment(without_ending(last).removeprefix("com_"))
