"""Find the part of a URL that reveals the class of its page."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from scrapersky.scraper.pages.slugs import (
    CONTACT_WORDS,
    LANGUAGE_NAMES,
    WORD_INDEX,
    PageClass,
    PageWord,
    SlugFit,
    SlugMatch,
    decode_percent,
    fold_text,
    load_url_words,
    match_slug,
    slugify_segment,
)

MAX_PATH_CHARACTERS = 1_000
"""Longer paths are truncated; no relevant page has one."""

CLOSED_CLASSES = frozenset((PageClass.blog, PageClass.product, PageClass.category, PageClass.other))
"""Classes that apply to everything below their folder, whatever its name."""

_SHOP_CLASSES = frozenset((PageClass.product, PageClass.category))
INDEX_FILES = ("index.", "default.")
_YEAR_PREFIXES = ("19", "20")
_MAX_PREFIXES = 2
MAX_PREFIX_CHARACTERS = max(map(len, LANGUAGE_NAMES))

_LANGUAGES = load_url_words("languages")
_COUNTRIES = load_url_words("countries")
_PAGE_ENDINGS = load_url_words("page_endings")
_PAGE_NUMBER_FOLDERS = load_url_words("page_number_folders")
_SITE_FOLDERS = load_url_words("folders_of_whole_sites")
"""Closed folders that may contain a whole site with its info pages: `/shop/impressum`."""


class UrlFolder(NamedTuple):
    """The segments before the last one; cached, because many URLs share them."""

    depth: int
    language: str
    is_front: bool
    """Only prefixes so far, so the next segment may be one, too."""
    is_dated: bool
    numbers_pages: bool
    closed_by: PageWord | None = None
    """The word of the blog, shop or archive that contains this folder."""
    may_hold_site: bool = False
    parent: PageWord | None = None
    """The nearest segment that names a page."""
    steps_below: int = 0


def split_host(rest: str) -> tuple[str, str]:
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


def clean_path(path: str) -> str:
    path = path[:MAX_PATH_CHARACTERS]
    if "%" in path:
        path = decode_percent(path)
    path = path.lower() if path.isascii() else fold_text(path)
    if ";" in path:
        path = path.partition(";")[0]
    return path.rstrip("/ ")


def get_prefix_language(segment: str) -> str | None:
    """Return the language of a prefix such as `de`, `pt-br` or `english`.

    Returns an empty string for a country (`us`), and None if the segment is not a prefix.
    """
    if len(segment) == 2:
        return segment if segment in _LANGUAGES else "" if segment in _COUNTRIES else None
    if len(segment) in (5, 6, 7) and segment[2] in "-_":
        first, second = segment[:2], segment[3:]
        if first in _LANGUAGES:
            return first if second.isalnum() and len(second) < 5 else None
        return second if first in _COUNTRIES and second in _LANGUAGES else None
    return LANGUAGE_NAMES.get(segment)


@lru_cache(maxsize=8192)
def parse_folder(directory: str) -> UrlFolder:
    segments = [each for each in directory.split("/") if each and not each.startswith(INDEX_FILES)]
    languages = []
    for segment in segments[:_MAX_PREFIXES]:
        language = get_prefix_language(segment)
        if language is None:
            break
        languages.append(language)
    segments = segments[len(languages) :]
    folder = UrlFolder(
        depth=len(segments),
        language=next((each for each in languages if each), ""),
        is_front=not segments and len(languages) < _MAX_PREFIXES,
        is_dated=_has_date(segments),
        numbers_pages=bool(segments) and segments[-1] in _PAGE_NUMBER_FOLDERS,
    )
    words = [match_slug(slugify_segment(strip_extension(each))) for each in segments]
    return _add_words(folder, words) if any(words) else folder


def _add_words(folder: UrlFolder, words: list[SlugMatch | None]) -> UrlFolder:
    closed_by = _find_closed_folder(words)
    parent, steps_below = _find_parent(words)
    return folder._replace(
        closed_by=closed_by,
        may_hold_site=closed_by is parent
        and steps_below == 1
        and closed_by is not None
        and closed_by.slug in _SITE_FOLDERS,
        parent=parent,
        steps_below=steps_below,
    )


def _find_closed_folder(words: list[SlugMatch | None]) -> PageWord | None:
    """Return the first closed folder; among shop folders the last, which is the most specific."""
    closing: PageWord | None = None
    for match in words:
        if match is None or match.word.page_class not in CLOSED_CLASSES:
            continue
        if closing is None or (
            closing.page_class in _SHOP_CLASSES and match.word.page_class in _SHOP_CLASSES
        ):
            closing = match.word
    return closing


def _find_parent(words: list[SlugMatch | None]) -> tuple[PageWord | None, int]:
    for steps, match in enumerate(reversed(words), 1):
        if (
            match is not None
            and not match.word.weak
            and match.word.page_class is not PageClass.home
        ):
            return match.word, steps
    return None, 0


def _is_year(segment: str) -> bool:
    return len(segment) == 4 and segment.startswith(_YEAR_PREFIXES) and segment.isdigit()


def _has_date(segments: list[str]) -> bool:
    """Return whether the path starts with a year, or contains a year followed by a month."""
    for at, segment in enumerate(segments):
        if len(segment) == 4 and _is_year(segment):
            month = segments[at + 1] if at + 1 < len(segments) else ""
            return at == 0 or (len(month) <= 2 and month.isdigit())
    return False


def strip_extension(segment: str) -> str:
    name, dot, ending = segment.rpartition(".")
    return name if dot and ending in _PAGE_ENDINGS else segment


def starts_with_date(segment: str) -> bool:
    """Match `2024`, `2024-05-17-our-post` and `2024_05.html`."""
    if not segment.startswith(_YEAR_PREFIXES) or not _is_year(segment[:4]):
        return False
    return len(segment) == 4 or (segment[4] in "-_." and segment[5:7].isdigit())


MAX_QUERY_CHARACTERS = 500
MAX_PARAMETERS = 10

_FILE_ENDINGS = load_url_words("file_endings")
_FEED_ENDINGS = load_url_words("feed_endings")
_FEED_FILES = load_url_words("feed_files")
_PAGE_KEYS = load_url_words("page_keys")
_TRACKING_KEYS = load_url_words("visit_keys")
_SITE_INFO_CLASSES = frozenset((PageClass.legal, PageClass.contact, PageClass.about))


class UrlRule(Enum):
    """The part of a URL that determined the class."""

    word = "path:"
    query = "query:"
    inside = "path: inside"
    below = "path: below"
    far_below = "path: far below"
    home = "path: home page"
    home_variant = "path: home page variant"
    dated = "path: a date"
    page_number = "path: a page number"
    file = "path: a file"
    nothing = "path: no known word"

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        self.is_below = sentence.endswith(" below")

    __hash__ = object.__hash__


class UrlMatch(NamedTuple):
    how: UrlRule
    word: PageWord | None
    fit: SlugFit | None
    depth: int
    has_query: bool
    language: str
    """Language of the URL's prefix; empty if there is none."""
    host: str


_RuleMatch = tuple[UrlRule, PageWord | None, SlugFit | None]

_NOTHING: _RuleMatch = (UrlRule.nothing, None, None)
_DATED: _RuleMatch = (UrlRule.dated, None, None)
_NUMBERED: _RuleMatch = (UrlRule.page_number, None, None)
_FILE: _RuleMatch = (UrlRule.file, None, None)


def match_url(url: str) -> UrlMatch:
    """Match an absolute or relative URL, in linear time; never raises."""
    rest, _, fragment = url.partition("#")
    rest, _, query = rest.partition("?")
    host, path = split_host(rest)
    if fragment[:1] == "/" or fragment[:2] == "!/":
        path = path.rstrip("/") + fragment.lstrip("!")
    directory, _, last = clean_path(path).rpartition("/")
    if last.startswith(INDEX_FILES) or last == "index":
        directory, _, last = directory.rstrip("/").rpartition("/")
    folder = parse_folder(directory)
    if not last or (folder.is_front and _is_prefix(last)):
        language = get_prefix_language(last) or folder.language
        return UrlMatch(*_match_front_page(query, host, language), 0, bool(query), language, host)
    match = _match_path(folder, last, host)
    if match is _NOTHING and query:
        match = _match_query(query, host) or match
    return UrlMatch(*match, folder.depth + 1, bool(query), folder.language, host)


def _is_prefix(last: str) -> bool:
    """Return whether the segment is a language prefix such as `/de`.

    Vocabulary words take precedence: `/om` is Swedish for "about".
    """
    if len(last) > MAX_PREFIX_CHARACTERS or last in WORD_INDEX:
        return False
    return get_prefix_language(last) is not None


# Rules


def _match_path(folder: UrlFolder, last: str, host: str) -> _RuleMatch:
    ending = last.rpartition(".")[2] if "." in last else ""
    if ending in _FILE_ENDINGS or ending in _FEED_ENDINGS:
        return _match_file(last, ending)
    if folder.closed_by is not None and not folder.may_hold_site:
        return UrlRule.inside, folder.closed_by, None
    if folder.is_dated or (folder.parent is None and starts_with_date(last)):
        return _DATED
    if folder.numbers_pages and last.isdigit():
        return _NUMBERED
    slug = slugify_segment(strip_extension(last) if ending else last)
    match = match_slug(slug, host)
    if folder.closed_by is not None:
        # The blog or shop may be a whole site; only its info pages are singled out.
        if (
            match is None
            or match.fit is not SlugFit.whole
            or match.word.page_class not in _SITE_INFO_CLASSES
        ):
            return UrlRule.inside, folder.closed_by, None
        return UrlRule.word, match.word, match.fit
    if match is not None and (not folder.depth or match.word.page_class is not PageClass.home):
        return UrlRule.word, *_apply_parent(match, folder.parent)
    if folder.parent is not None:
        how = UrlRule.below if folder.steps_below == 1 else UrlRule.far_below
        return how, folder.parent, None
    return _NOTHING


def _match_file(last: str, ending: str) -> _RuleMatch:
    if ending in _FEED_ENDINGS or last in _FEED_FILES:
        return UrlRule.inside, WORD_INDEX["feed"], None
    return _FILE


def _apply_parent(match: SlugMatch, parent: PageWord | None) -> SlugMatch:
    """Refine a match by its parent folder.

    `/careers/contact` is the careers contact page; a page that repeats its parent's class, such as
    `/about/our-history`, is a weaker match.
    """
    if parent is None:
        return match
    if match.word.page_class is parent.page_class:
        return match._replace(fit=SlugFit.among_known) if match.fit is SlugFit.whole else match
    if match.word.page_class is PageClass.contact:
        return match._replace(word=CONTACT_WORDS.get(parent.page_class, match.word))
    return match


def _match_front_page(query: str, host: str, language: str) -> _RuleMatch:
    """Match the home page, one of its language versions, or the page its query selects."""
    if not query:
        return UrlRule.home_variant if language else UrlRule.home, None, None
    keys = {pair.partition("=")[0].lower() for pair in query[:MAX_QUERY_CHARACTERS].split("&")}
    if all(not key or key in _TRACKING_KEYS or key.startswith("utm_") for key in keys):
        return UrlRule.home_variant, None, None
    return _match_query(query, host) or _NOTHING


def _match_query(query: str, host: str) -> _RuleMatch | None:
    for pair in query[:MAX_QUERY_CHARACTERS].split("&", MAX_PARAMETERS):
        key, _, value = pair.partition("=")
        key = key.lower()
        if key in _PAGE_KEYS:
            match = None if value.isdigit() else match_slug(_slugify_value(value), host)
            if match is not None:
                return UrlRule.query, match.word, match.fit
        elif value and (word := WORD_INDEX.get(key)) and word.page_class in CLOSED_CLASSES:
            return UrlRule.query, word, None
    return None


def _slugify_value(value: str) -> str:
    """Convert `information%2Fcontact` and `com_contact` to `contact`."""
    last = clean_path(value).rpartition("/")[2]
    return slugify_segment(strip_extension(last).removeprefix("com_"))
