"""Page classes and their words from `words.toml`, and the match of slugs against these words.

A slug is `contact-us`, `kontakt-anfahrt` or `ueberuns`.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from itertools import product
from typing import NamedTuple
from urllib.parse import unquote_to_bytes


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
            kind = PageClass(page_class), None if detail == "plain" else detail
            for language, texts in by_language.items():
                for text in texts.split(","):
                    yield text.strip(), kind, "" if language == "any" else language


MAX_TOKENS = 8
"""A longer slug is a headline rather than the name of a page."""
MAX_UNKNOWN_TOKENS = 2
MIN_HOST_TOKEN = 3
"""Shorter tokens occur in host names by chance."""

_WHOLE_SLUG_CLASSES = frozenset(
    (PageClass.home, PageClass.blog, PageClass.product, PageClass.category, PageClass.other)
)
"""Classes whose words only count as a whole slug, unlike in `price-tag` or `home-services`."""

_KIND_PRECEDENCE: tuple[PageKind, ...] = (
    (PageClass.careers, WITH_CONTACT),
    (PageClass.press, WITH_CONTACT),
    (PageClass.legal, IMPRINT),
    (PageClass.contact, None),
    (PageClass.team, None),
    (PageClass.careers, None),
    (PageClass.press, None),
    (PageClass.legal, PRIVACY),
    (PageClass.legal, TERMS),
    (PageClass.locations, None),
    (PageClass.pricing, None),
    (PageClass.menu, None),
    (PageClass.services, None),
    (PageClass.about, None),
)
"""Which word wins in a slug of several: `about-our-team` is a team page."""


class SlugFit(StrEnum):
    """How the word found in a slug relates to the rest of it."""

    whole = "whole"
    among_known = "among known words"
    among_unknown = "among unknown words"


@dataclass(frozen=True, eq=False, slots=True)
class PageWord:
    """A vocabulary word in slug form; compared by identity, for speed."""

    slug: str
    page_class: PageClass
    detail: str | None
    languages: tuple[str, ...]
    weak: bool
    strong: bool

    @property
    def kind(self) -> PageKind:
        return self.page_class, self.detail


class SlugMatch(NamedTuple):
    word: PageWord
    fit: SlugFit


# Normalization

_LETTERS = {"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "ı": "i", "đ": "d", "’": "-"}
_ACCENTS = range(0x300, 0x370)
_FOLDS = {**{ord(letter): plain for letter, plain in _LETTERS.items()}, **dict.fromkeys(_ACCENTS)}
_DIGRAPHS = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_TO_HYPHEN = str.maketrans(dict.fromkeys("_+., ~;:!'()&=*@|", "-"))
_TO_SPACE = {code: " " for code in range(0x2FFF) if not chr(code).isalnum()}


def fold_text(text: str) -> str:
    """Convert to lower case and remove accents; other scripts are unchanged."""
    text = text.lower()
    return text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_FOLDS)


def decode_percent(text: str) -> str:
    """Percent-decode as UTF-8, or as Latin-1 if it is not valid UTF-8."""
    data = unquote_to_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def slugify_segment(segment: str) -> str:
    """Convert `contact_us` to `contact-us`; most segments are slugs and skip the slow path."""
    return segment if segment.replace("-", "").isalnum() else segment.translate(_TO_HYPHEN)


def slugify_text(text: str) -> str:
    """Convert `Über uns!` to `uber-uns`."""
    return "-".join(fold_text(text).translate(_TO_SPACE).split())


# Word index


def _list_spellings(phrase: str) -> Iterator[str]:
    """Yield the spellings of `über uns`: uber-uns, ueber-uns, uberuns, ueberuns."""
    letters = [(each, _DIGRAPHS[each]) if each in _DIGRAPHS else (each,) for each in phrase]
    for spelling in product(*letters):
        slug = slugify_text("".join(spelling))
        yield slug
        if len(slug) > 6:
            yield slug.replace("-", "")


def _list_entries() -> Iterator[tuple[str, PageKind, str, str]]:
    """Yield every spelling with its kind, language and mark."""
    for phrase, kind, language in list_phrases():
        mark = phrase[-1] if phrase[-1] in "?!" else ""
        for slug in _list_spellings(phrase.rstrip("?!")):
            yield slug, kind, language, mark


def _build_index(entries: Iterable[tuple[str, PageKind, str, str]]) -> dict[str, PageWord]:
    by_slug: dict[str, tuple[PageKind, dict[str, str]]] = {}
    for slug, kind, language, mark in entries:
        known, marks = by_slug.setdefault(slug, (kind, {}))
        if known == kind:
            marks[language] = mark
    return {slug: _build_word(slug, *each) for slug, each in by_slug.items()}


def _build_word(slug: str, kind: PageKind, marks: dict[str, str]) -> PageWord:
    weak = all(mark == "?" for mark in marks.values())
    strong = "!" in marks.values() or ("-" in slug and not weak)
    languages = tuple(marks) if weak else tuple(each for each in marks if marks[each] != "?")
    return PageWord(slug, *kind, tuple(each for each in languages if each), weak, strong)


WORD_INDEX = _build_index(_list_entries())
_PART_INDEX = {
    slug: word for slug, word in WORD_INDEX.items() if word.page_class not in _WHOLE_SLUG_CLASSES
}
_ANCHORS = frozenset(max(slug.split("-"), key=len) for slug in _PART_INDEX)
_MAX_TOKENS_BY_FIRST: dict[str, int] = {}
"""Token count of the longest word that starts with the token."""
for _slug in _PART_INDEX:
    _first = _slug.partition("-")[0]
    _MAX_TOKENS_BY_FIRST[_first] = max(_MAX_TOKENS_BY_FIRST.get(_first, 0), _slug.count("-") + 1)
_RANKS = {kind: rank for rank, kind in enumerate(_KIND_PRECEDENCE)}


# Matching


def match_slug(slug: str, host: str = "") -> SlugMatch | None:
    """Return the word a slug stands for; parts of the host name next to it are ignored."""
    word = WORD_INDEX.get(slug)
    if word is not None:
        return SlugMatch(word, SlugFit.whole)
    if "-" not in slug:
        return None
    tokens = slug.split("-")
    if _ANCHORS.isdisjoint(tokens):
        return None
    return _match_tokens(tokens, host)


def _match_tokens(tokens: list[str], host: str) -> SlugMatch | None:
    tokens = [each for each in tokens if each]
    if len(tokens) > MAX_TOKENS or not SPOILERS.isdisjoint(tokens):
        return None
    words, unknown = _find_words(tokens, host)
    if not words or unknown > MAX_UNKNOWN_TOKENS:
        return None
    word = _select_word(words)
    if not unknown:
        is_whole = word.slug == "-".join(tokens)
        return SlugMatch(word, SlugFit.whole if is_whole else SlugFit.among_known)
    return SlugMatch(word, SlugFit.among_unknown) if word.strong else None


def _find_words(tokens: list[str], host: str) -> tuple[list[PageWord], int]:
    """Return the words among the tokens (longest match first) and the count of unknown tokens.

    Stops once there are too many unknown tokens.
    """
    words: list[PageWord] = []
    unknown = at = 0
    while at < len(tokens) and unknown <= MAX_UNKNOWN_TOKENS:
        word, length = _find_longest_word(tokens, at)
        if word is not None and not word.weak:
            words.append(word)
        elif word is None and not _is_filler(tokens[at], host):
            unknown += 1
        at += length
    return words, unknown


def _find_longest_word(tokens: list[str], at: int) -> tuple[PageWord | None, int]:
    longest = _MAX_TOKENS_BY_FIRST.get(tokens[at], 0)
    for length in range(longest, 0, -1):
        word = _PART_INDEX.get("-".join(tokens[at : at + length]))
        if word is not None:
            return word, length
    return None, 1


def _is_filler(token: str, host: str) -> bool:
    if token in FILLERS or token.isdigit():
        return True
    return len(token) >= MIN_HOST_TOKEN and token in host


def _select_word(words: list[PageWord]) -> PageWord:
    classes = {word.page_class for word in words}
    if PageClass.contact in classes:
        for whose in (PageClass.careers, PageClass.press):
            if whose in classes:
                return CONTACT_WORDS[whose]
    return min(words, key=lambda word: _RANKS[word.kind])


CONTACT_WORDS = {
    each: PageWord(each.value, each, WITH_CONTACT, (), weak=False, strong=False)
    for each in (PageClass.careers, PageClass.press)
}
