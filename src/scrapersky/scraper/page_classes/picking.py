"""Choose the few right pages of a site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scrapersky.scraper.page_classes.finding import find_in_url
from scrapersky.scraper.page_classes.judgement import MIN_CONFIDENCE, PRIORITIES, Classified
from scrapersky.scraper.page_classes.words import PRIVACY, Kind, PageClass

WORTH_READING: frozenset[Kind] = frozenset(
    kind
    for kind, priority in PRIORITIES.items()
    if priority <= PRIORITIES[PageClass.legal, PRIVACY]
)
PAGES_OF_A_SITE = 6
"""Three to six right pages hold what a crawl of the whole site would find."""
MAX_OF_A_KIND = 2

Page = tuple[str, Classified]


def is_worth_reading(page: Classified) -> bool:
    """Whether a page is read without anyone asking for it."""
    return (page.page_class, page.detail) in WORTH_READING and page.confidence >= MIN_CONFIDENCE


def pick_pages(
    pages: Iterable[Page], *, limit: int = PAGES_OF_A_SITE, language: str | None = None
) -> list[Page]:
    """The few right pages of a site, best first, of all its addresses with their classes.

    One page of each kind, and a second one where there is room that is no translation. `language`
    is the site's main one; unless given, it is that of the addresses without a prefix.
    """
    worth = [page for page in pages if is_worth_reading(page[1])]
    prefixes = {url: find_in_url(url).language for url, _ in worth}
    places = _places(Counter(prefixes.values()), (language or "")[:2].lower())
    worth.sort(key=lambda page: (page[1].priority, *_closeness(page, places[prefixes[page[0]]])))
    rounds: tuple[list[Page], ...] = tuple([] for _ in range(MAX_OF_A_KIND))
    taken: dict[Kind, list[str]] = {}
    for url, seen in worth:
        of_kind = taken.setdefault((seen.page_class, seen.detail), [])
        if len(of_kind) < MAX_OF_A_KIND and all(each == prefixes[url] for each in of_kind):
            rounds[len(of_kind)].append((url, seen))
            of_kind.append(prefixes[url])
    return [page for each in rounds for page in each][: max(limit, 0)]


def _places(counts: Counter[str], main: str) -> dict[str, int]:
    """Whose pages are preferred: the main language's, those without a prefix, the most frequent."""
    order = sorted(counts, key=lambda each: (each != main, each != "", -counts[each], each))
    return {language: place for place, language in enumerate(order)}


def _closeness(page: Page, place: int) -> tuple[int, float, int, int, str]:
    url, seen = page
    return place, -seen.confidence, seen.path_depth, len(url), url
