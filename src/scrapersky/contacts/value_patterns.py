"""Patterns that match every spelling of one e-mail address, phone number or URL, and redact it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any
from urllib.parse import quote, unquote

import idna
from phonenumbers import (
    PhoneNumberFormat,
    format_number,
    national_significant_number,
    parse,
)
from sqlalchemy import ColumnElement, SQLColumnExpression, and_, or_

from scrapersky.contacts.page_parser import ParsedPage
from scrapersky.scraper.contacts.encodings import AT_WORDS, DOT_WORDS
from scrapersky.scraper.contacts.model import FoundContact
from scrapersky.scraper.contacts.phone_numbers import INVISIBLE
from scrapersky.scraper.html.model import PageFacts, PageLink
from scrapersky.scraper.site.model import SiteMetadata

ERASED_PLACEHOLDER = "[erased]"
MIN_RAW_CHARACTERS = 16
"""Minimum length of an obfuscated spelling to search for; a shorter one may be a plain word."""
MIN_PHONE_DIGITS = 7

_KEPT_URL_FIELDS: Mapping[type, frozenset[str]] = {
    ParsedPage: frozenset({"url", "final_url"}),
    PageFacts: frozenset({"url"}),
    PageLink: frozenset({"url"}),
    SiteMetadata: frozenset({"url", "final_url"}),
}
"""Fields that identify a page. They are kept, like the URL columns of stored rows."""

_BEFORE_EMAIL = (
    r"(?:(?<![\w.+'\-])|(?<=%[0-9A-Fa-f]{2})|(?<=u00[0-9A-Fa-f]{2})|(?<=\d{4})(?=[A-Za-z]))"
)
# Text may follow without a space: `anna@bakery.deTelefon`, `anna@bakery.de.Call us`.
_AFTER_EMAIL = r"(?:(?![\w\-])(?!\.\w)|(?<=(?-i:[a-z]))(?=\.?(?-i:[A-Z])))"
# `anna (at) bakery [dot] de`. The bounds keep backtracking short.
_SEPARATOR = r"\s{0,3}[^\w\s]{0,3}\s{0,3}"
_AT = rf"{_SEPARATOR}(?:@|%40|&\#x?\d\d;|(?<!\w)(?:{AT_WORDS})(?!\w)){_SEPARATOR}"
_DOT = rf"{_SEPARATOR}(?:\.|(?<!\w)(?:{DOT_WORDS})(?!\w)){_SEPARATOR}"
_NUMBER_SEPARATORS = r"[\s().\-/\u00b7\u2010-\u2015\u200b]{0,4}"
_BEFORE_NUMBER, _AFTER_NUMBER = r"(?<![\d+])", r"(?!\d)"
_SCRIPT_ESCAPE = re.compile(r"\\{1,2}(?:u(?![dD][89a-fA-F])([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
"""Of JSON and JavaScript, without halves of surrogate pairs."""
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_WIDE_SIGNS = str.maketrans("\uff20\ufe6b\uff0e\uff0b", "@@.+")
_ESCAPE_DEPTH = 2
"""A URL in an attribute, or markup in JSON, is escaped twice."""
_BEFORE_URL, _AFTER_URL = r"(?<!\w)", r"(?![\w\-])"


@dataclass(frozen=True)
class ValuePattern:
    """All spellings of one value."""

    spellings: tuple[str, ...]
    pattern: re.Pattern[str]
    words: tuple[str, ...] = ()
    """Texts that all occur wherever the value is spelled out."""
    digits: str = ""
    """Digits that occur in this order wherever the value is written, with or without separators."""

    def build_condition(self, column: SQLColumnExpression[str]) -> ColumnElement[bool]:
        """Return a cheap SQL prefilter. It may match too much; `pattern` decides."""
        ways = [column.icontains(each, autoescape=True) for each in self.spellings]
        if self.words:
            ways.append(and_(*(column.icontains(each, autoescape=True) for each in self.words)))
        if self.digits:
            between = "(?:[^0-9]|%20|&#(?:32|160);){0,6}"
            ways.append(column.regexp_match(between.join(self.digits)))
        return or_(*ways)

    def matches(self, text: str) -> bool:
        return any(map(self.pattern.search, list_spellings(text)))

    def mask(self, text: str) -> str:
        """Replace it in a text. A text in which it is escaped is unescaped as a whole."""
        masked = self.pattern.sub(ERASED_PLACEHOLDER, text)
        plain = unescape(masked)
        return self.pattern.sub(ERASED_PLACEHOLDER, plain) if self.pattern.search(plain) else masked

    def redact(self, value: Any) -> Any:
        """Return a copy without the value.

        Elements of lists and objects that consist of it are dropped. In longer texts it is replaced
        by the placeholder. A contact is dropped when its value matches.
        """
        if isinstance(value, Enum):
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list | tuple):
            return type(value)(self.redact(each) for each in value if not self._covers(each))
        if isinstance(value, Mapping):
            return {
                key: self.redact(each)
                for key, each in value.items()
                if not self._covers(each) and not self.matches(key)
            }
        if is_dataclass(value) and not isinstance(value, type):
            return self._redact_fields(value)
        return value

    def _redact_fields(self, value: Any) -> Any:
        kept = _KEPT_URL_FIELDS.get(type(value), frozenset())
        changed = {}
        for field in fields(value):
            before = getattr(value, field.name)
            if not field.init or field.name in kept or before is None:
                continue
            is_gone = field.default is None and self._covers(before)
            after = None if is_gone else self.redact(before)
            if after is not before and after != before:
                changed[field.name] = after
        return replace(value, **changed) if changed else value

    def _covers(self, value: Any) -> bool:
        """Return whether the value is the text, or the text has no spaces and contains it, as in a
        link.
        """
        if isinstance(value, FoundContact):
            return self.matches(value.value)
        if not isinstance(value, str) or isinstance(value, Enum):
            return False
        bare = value.strip()
        return any(map(self.pattern.fullmatch, list_spellings(bare))) or (
            not any(map(str.isspace, bare)) and self.matches(bare)
        )


def unescape(text: str) -> str:
    """Resolve percent, HTML and script escapes, and drop invisible characters."""
    for _ in range(_ESCAPE_DEPTH):
        if "%" in text:
            text = unquote(text)
        if "&" in text:
            text = html.unescape(text)
        if "\\" in text:
            text = _SCRIPT_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    return text if text.isascii() else _INVISIBLE.sub("", text).translate(_WIDE_SIGNS)


def list_spellings(text: str) -> tuple[str, ...]:
    """The text as written, and without escapes where it has some."""
    plain = unescape(text)
    return (text,) if plain == text else (text, plain)


def build_email_pattern(address: str, raws: Iterable[str]) -> ValuePattern:
    local, _, domain = address.partition("@")
    signs = ("@", "%40", "&#64;", "&#x40;")
    plain = {f"{local}{sign}{domain}" for sign in signs}
    plain |= {f"{local}@{_decode_domain(domain)}", quote(address)}
    spellings = {each.strip() for each in raws if _identifies_address(each, local, domain)}
    spelled_out = {
        _DOT.join(map(re.escape, local.split(".")))
        + _AT
        + _DOT.join(map(re.escape, each.split(".")))
        for each in (domain, _decode_domain(domain))
    }
    words = (local, domain.partition(".")[0])
    return _build_pattern(plain | spellings, _BEFORE_EMAIL, _AFTER_EMAIL, spelled_out, words=words)


def _decode_domain(domain: str) -> str:
    try:
        return str(idna.decode(domain))
    except (idna.IDNAError, UnicodeError):
        return domain


def _identifies_address(raw: str, local: str, domain: str) -> bool:
    """Return whether the spelling is specific. Redacting `kontakt` would damage most texts."""
    bare = raw.strip().lower()
    spelled_out = local in bare and domain.partition(".")[0] in bare
    return spelled_out or (len(bare) >= MIN_RAW_CHARACTERS and not any(map(str.isspace, bare)))


def build_phone_pattern(number: str, raws: Iterable[str]) -> ValuePattern:
    parsed = parse(number)
    formats = (PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.NATIONAL)
    written = {format_number(parsed, each) for each in formats}
    plain = {number, number.removeprefix("+"), *written, *map(get_digits, written)}
    spellings = {each.strip() for each in raws if len(get_digits(each)) >= MIN_PHONE_DIGITS}
    national = national_significant_number(parsed)
    country = _NUMBER_SEPARATORS.join(str(parsed.country_code))
    trunk_prefix = rf"(?:\(?0\)?{_NUMBER_SEPARATORS})?"
    code = rf"(?:\+|00)?{country}{_NUMBER_SEPARATORS}{trunk_prefix}"
    dialled = get_digits(format_number(parsed, PhoneNumberFormat.NATIONAL))
    any_signs = {code + _NUMBER_SEPARATORS.join(national), _NUMBER_SEPARATORS.join(dialled)}
    return _build_pattern(
        plain | spellings, _BEFORE_NUMBER, _AFTER_NUMBER, any_signs, digits=national.lstrip("0")
    )


def get_digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def build_url_pattern(url: str) -> ValuePattern:
    """Match a profile URL that contains only an erased number."""
    return _build_pattern({url}, _BEFORE_URL, _AFTER_URL)


def _build_pattern(
    spellings: Iterable[str], before: str, after: str, patterns: Iterable[str] = (), **more: Any
) -> ValuePattern:
    longest_first = sorted({each for each in spellings if each}, key=len, reverse=True)
    either = "|".join((*sorted(patterns), *map(re.escape, longest_first)))
    pattern = re.compile(f"{before}(?:{either}){after}", re.IGNORECASE)
    return ValuePattern(tuple(longest_first), pattern, **more)
