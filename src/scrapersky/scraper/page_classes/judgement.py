"""Weigh what an address, a title and a link say about a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from scrapersky.scraper.page_classes.finding import Found, How
from scrapersky.scraper.page_classes.slugs import Fit, Match, Word, match, slug_of_text
from scrapersky.scraper.page_classes.words import (
    IMPRINT,
    PRIVACY,
    TERMS,
    WITH_CONTACT,
    Kind,
    PageClass,
)

PRIORITIES: Mapping[Kind, int] = {
    (PageClass.legal, IMPRINT): 1,
    (PageClass.contact, None): 2,
    (PageClass.careers, WITH_CONTACT): 3,
    (PageClass.press, WITH_CONTACT): 4,
    (PageClass.team, None): 5,
    (PageClass.about, None): 6,
    (PageClass.home, None): 7,
    (PageClass.locations, None): 8,
    (PageClass.press, None): 9,
    (PageClass.legal, PRIVACY): 10,
    (PageClass.careers, None): 11,
    (PageClass.legal, TERMS): 12,
    (PageClass.services, None): 13,
    (PageClass.pricing, None): 14,
    (PageClass.menu, None): 15,
    (PageClass.other, None): 16,
    (PageClass.category, None): 18,
    (PageClass.product, None): 19,
    (PageClass.blog, None): 20,
}
"""What is read first follows what some four thousand pages gave: four in ten of those about whom to
ask for a job held a contact, three in ten of the legal ones, one in eight of the contact pages, one
in a hundred of the blogs. The imprint still comes first: it names the company itself, where a
careers page names its recruiters."""

SUB_PAGE_PRIORITY = 17
"""What lies below a contact or an about page yielded nothing."""

MIN_CONFIDENCE = 0.5
"""Below it the class is a guess: a page below a contact page, a word with other meanings."""

MAX_TEXT_CHARACTERS = 300
_TITLE_SEPARATORS = str.maketrans(dict.fromkeys("|–—»«·•:/<>›‹→~", "|"))

_CONFIDENCE = {
    How.home: 0.99,
    How.home_variant: 0.9,
    How.query: 0.85,
    How.inside: 0.9,
    How.dated: 0.8,
    How.page_number: 0.7,
    How.file: 0.9,
    How.below: 0.4,
    How.far_below: 0.3,
    How.nothing: 0.3,
}
_FIT = {Fit.whole: 0.95, Fit.among_known: 0.8, Fit.among_unknown: 0.65}
_DEPTH_PENALTY = (0.0, 0.0, 0.0, 0.1, 0.25)
_QUERY_PENALTY = 0.05
_WEAK = (0.35, 0.6, 0.9)
"""A word with other meanings: in another language, in who knows which, in its own."""
_TITLE, _LINK_TEXT, _BOTH = 0.8, 0.75, 0.9
_AGREES, _DISAGREES = 0.04, 0.2


@dataclass(frozen=True, slots=True)
class Classified:
    page_class: PageClass
    confidence: float
    rule: str
    """What was seen, for people: `path: impressum (de), imprint`."""
    priority: int
    """Lower is read first."""
    path_depth: int
    """Segments below the home page; a language prefix and an index file are none."""
    detail: str | None = None
    """Of a legal page imprint, privacy or terms; of careers or press contact, or nothing."""


# Confidence


@lru_cache(maxsize=8192)
def judged(
    how: How, word: Word | None, fit: Fit | None, depth: int, has_query: bool, language: str
) -> Classified:
    page_class, detail = _kind(how, word)
    return Classified(
        page_class,
        round(_confidence(how, word, fit, depth, has_query, language), 2),
        _rule(how, word, language),
        SUB_PAGE_PRIORITY if how.is_below else PRIORITIES[page_class, detail],
        depth,
        detail,
    )


def _kind(how: How, word: Word | None) -> Kind:
    if how in (How.home, How.home_variant):
        return PageClass.home, None
    if how in (How.dated, How.page_number):
        return PageClass.blog, None
    if word is None:
        return PageClass.other, None
    if how is How.word and word.page_class is PageClass.product:
        return PageClass.category, None
    return word.kind


def _confidence(
    how: How, word: Word | None, fit: Fit | None, depth: int, has_query: bool, language: str
) -> float:
    if word is None or how not in (How.word, How.query):
        return _CONFIDENCE[how]
    sure = _sureness(word, fit, language) - _DEPTH_PENALTY[min(depth, len(_DEPTH_PENALTY) - 1)]
    if how is How.query:
        return min(sure, _CONFIDENCE[how])
    return sure - _QUERY_PENALTY if has_query else sure


def _sureness(word: Word, fit: Fit | None, language: str) -> float:
    if word.weak:
        return _WEAK[1 if not language else 2 if language in word.languages else 0]
    return _FIT[fit or Fit.whole]


def _rule(how: How, word: Word | None, language: str) -> str:
    if word is None:
        return how.sentence
    return f"{how.sentence} {_said(word, language)}"


def _said(word: Word, language: str) -> str:
    tongue = language if language in word.languages else next(iter(word.languages), "")
    in_tongue = f" ({tongue})" if tongue else ""
    return f"{word.slug}{in_tongue}{f', {word.detail}' if word.detail else ''}"


# Titles and links


def with_texts(
    by_path: Classified, found: Found, texts: Mapping[str, str | None], language: str
) -> Classified:
    told = {
        source: seen
        for source, text in texts.items()
        if text and (seen := _in_text(text, found.host, language))
    }
    if not told:
        return by_path
    if by_path.confidence < MIN_CONFIDENCE:
        return _by_text(by_path, found, told, language)
    return _compared(by_path, told)


def _in_text(text: str, host: str, language: str) -> Match | None:
    """The first part of `Imprint | Muster Ltd` that names a page; a home page only at last."""
    parts = text[:MAX_TEXT_CHARACTERS].replace(" - ", "|").translate(_TITLE_SEPARATORS).split("|")
    seen = [each for each in (match(slug_of_text(part), host) for part in parts) if each]
    clear = [each for each in seen if not each.word.weak or language in each.word.languages]
    return min(clear, key=lambda each: each.word.page_class is PageClass.home, default=None)


def _by_text(
    by_path: Classified, found: Found, told: Mapping[str, Match], language: str
) -> Classified:
    source, best = next(iter(told.items()))
    kinds = {seen.word.kind for seen in told.values()}
    sure = _TITLE if source == "title" else _LINK_TEXT
    rule = f"{source}: {_said(best.word, language)}"
    if len(told) > 1:
        sure = _BOTH if len(kinds) == 1 else sure - _DISAGREES
        rule += "; link agrees" if len(kinds) == 1 else f"; link says {_name(told['link'])}"
    if found.word is not None and found.word.page_class is not best.word.page_class:
        sure -= _DISAGREES
        rule += f"; path says {by_path.page_class}"
    sure = min(sure, _FIT[best.fit])
    page_class, detail = best.word.kind
    priority = PRIORITIES[page_class, detail]
    return Classified(page_class, round(sure, 2), rule, priority, by_path.path_depth, detail)


def _compared(by_path: Classified, told: Mapping[str, Match]) -> Classified:
    """The path decides; what the texts say is added to the confidence and to the rule."""
    sure, rule = by_path.confidence, by_path.rule
    for source, seen in told.items():
        agrees = seen.word.page_class is by_path.page_class
        sure += _AGREES if agrees else -_DISAGREES
        rule += f"; {source} agrees" if agrees else f"; {source} says {_name(seen)}"
    return replace(by_path, confidence=round(min(max(sure, 0.0), 0.99), 2), rule=rule)


def _name(seen: Match) -> str:
    return seen.word.detail or seen.word.page_class.value
