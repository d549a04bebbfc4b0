"""Decode addresses that are encoded (base64, percent-encoding, rot13, reversed) or spelled out.

In a spelled-out address, words replace "@" and ".": `name (at) host [dot] tld`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote

from scrapersky.scraper.contacts.emails import find_emails, match_email, parse_recipients
from scrapersky.scraper.contacts.model import ExtractionMethod, split_words
from scrapersky.scraper.contacts.page import TokenizedPage


@dataclass(frozen=True)
class DecodedText:
    text: str
    raw: str
    """The value as it appears in the page."""
    method: ExtractionMethod
    place: int | None = None
    span: tuple[int, int] | None = None


def rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


MAX_ENCODED_CHARACTERS = 500
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{4,}={0,2}\Z")
_PLAIN_PREFIXES = ("mailto:", "tel:", "http:", "https:", "//", "/")
_HINT_WORDS = split_words(
    "mail cloak obfus protect crypt encod data-enc spam b64 base64 rot13 revers znvygb"
)
_VALUE_ATTRIBUTES = frozenset(("href", "title", "rel"))
_ADDRESS_SIGN = re.compile(r"@|\bat\b|/at/|\[at\]|\(at\)", re.IGNORECASE)


def from_base64(text: str) -> str | None:
    """Return the decoded text if the value is base64 of printable text, else None."""
    text = text.strip()
    if not 4 <= len(text) <= MAX_ENCODED_CHARACTERS or not _BASE64.match(text):
        return None
    result = from_base64_text(text)
    return result if result and result.isprintable() else None


def from_base64_text(text: str) -> str:
    """Return the decoded text, or an empty string if the value is not base64 of UTF-8."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        decoded = base64.b64decode(padded, altchars=b"-_" if set("-_") & set(text) else None)
        return decoded.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def read_encoded_attributes(page: TokenizedPage) -> Iterator[DecodedText]:
    """Decode attributes of elements whose attributes hint at an obfuscated address."""
    seen: set[int] = set()
    for tag in chain.from_iterable(map(page.find_tags, sorted(_HINT_WORDS))):
        if tag.index in seen:
            continue
        seen.add(tag.index)
        for name, value in tag.attributes.items():
            if name.startswith("data-") or name in _VALUE_ATTRIBUTES:
                for text, method in list_decodings(value):
                    yield DecodedText(text, value, method, page.get_position(tag.index))


def list_decodings(value: str) -> Iterator[tuple[str, ExtractionMethod]]:
    """Yield the decodings of a value that may be an encoded address.

    Yields nothing if the value contains a plain address. Stops at the first decoding that yields an
    address: at most one decoding is the intended one, and applying another to a real address
    produces a wrong one (rot13 of a name looks like a name, too).
    """
    value = value.strip().removeprefix("javascript:").removeprefix("#").strip()
    if not 6 <= len(value) <= MAX_ENCODED_CHARACTERS or value.lower().startswith(_PLAIN_PREFIXES):
        return
    if _has_email(value):
        return
    for text, method in _list_possible_decodings(value):
        yield text, method
        if _has_email(text):
            return


def _list_possible_decodings(value: str) -> Iterator[tuple[str, ExtractionMethod]]:
    plain = from_base64(value)
    if plain:
        yield plain, ExtractionMethod.BASE64
        yield plain[::-1], ExtractionMethod.BASE64
        yield rot13(plain), ExtractionMethod.BASE64
    if "%40" in value:
        yield unquote(value), ExtractionMethod.ATTRIBUTE
    if "@" in value or "[at]" in value or "(at)" in value:
        yield value[::-1], ExtractionMethod.REVERSED
    turned = rot13(value)
    if _ADDRESS_SIGN.search(turned):
        yield turned, ExtractionMethod.ROT13
        yield turned[::-1], ExtractionMethod.ROT13


def _has_email(text: str) -> bool:
    return next(find_emails(text, limit=5), None) is not None


MAX_CANDIDATES = 1_000
_TEXT_ATTRIBUTES = frozenset(("alt", "title", "aria-label", "content"))
_CONTEXT_CHARACTERS = 100
_WIDE_GAP = " " * 4
"""Ends an address: nothing after a gap this wide belongs to it."""
AT_WORDS = (
    "@|at|ät|æt|aet|a|à|bei|arroba|arobase|arobas|chiocciola|klammeraffe|affe|apenstaartje"
    "|malpa|małpa|snabel-a|snabela|snabel|zavinac|zavináč|kukac|собака|at-sign|at sign|kuyruklu a"
    "|kuyruklu|miukumauku|παπάκι"
)
DOT_WORDS = (
    "dot|d0t|punkt|pkt|punto|ponto|point|punt|kropka|punktum|prick|te[cč]ka|nokta|piste|pont"
    "|точка|period"
)
_OPEN, _CLOSE = r"[\[({<«]{1,3}", r"[\])}>»]{1,3}"
_FENCE = r"[\"'`*_~|/=+\-]{1,2}"
_HIDDEN_DOT = (
    rf"(?i: {{0,3}}{_OPEN} {{0,3}}(?:{DOT_WORDS}|\.)| {{1,3}}(?:{DOT_WORDS}) "
    rf"|{_FENCE}(?:{DOT_WORDS}){_FENCE})"
)


def _list_spellings(words: str) -> str:
    """Build an alternation of each word in lower case, capitalized and in upper case.

    Matching it is faster than matching the words with `re.IGNORECASE`.
    """
    every = [form for word in words.split("|") for form in (word, word.capitalize(), word.upper())]
    return "|".join(dict.fromkeys(every))


# No pattern below starts with an optional part or can repeat its own first character. Text that
# consists only of brackets or spaces is therefore skipped in linear time.
_BRACKETED_AT = re.compile(
    rf"{_OPEN}\s{{0,3}}(?:{_list_spellings(AT_WORDS)})\s{{0,3}}{_CLOSE}\s{{0,3}}"
)
_FENCED_AT = re.compile(rf"{_FENCE}[ \t]?(?:at|AT|At|ät|@)[ \t]?{_FENCE}[ \t]{{0,3}}")
_QUOTED_AT = re.compile(r"[“„‘]\s?(?:at|AT|At|ät|@)\s?[”“’]\s{0,3}")
_AT_BEFORE_SIGN = re.compile(r"at ?[)\]}>»\"'`*_~|/=+\-]")
_SIGN_BEFORE_SIGN = re.compile(r"@ ?[)\]}>»\"'`*_~|/=+\-]")
_RARE_AT_MARKERS = (
    *("(a)", "[a]", "{a}", "ät", "æt", "aet", "(à)", "[à]", "bei)", "bei]"),
    *(word for word in AT_WORDS.split("|") if len(word) > 3),
)
_UNAMBIGUOUS_AT_WORDS = ("arroba", "arobase", "chiocciola", "apenstaartje", "małpa", "zavináč")
_ENCLOSING_SIGNS = "[({<«\"'`*_~|/=+-"
_BARE_AT = {
    word: re.compile(rf" {word} {{1,3}}(?=[\w\-]{{1,63}}(?:\.[A-Za-z]|{_HIDDEN_DOT}))")
    for word in ("at", "AT", "At", "ät", *_UNAMBIGUOUS_AT_WORDS)
}
_SIGN_BEFORE_HIDDEN_DOT = re.compile(
    rf"@(?=[\w\-]{{1,63}}(?:\.[\w\-]{{1,63}}){{0,3}}{_HIDDEN_DOT})"
)
_SPACED_SIGN = re.compile(r" @ {0,2}(?=\w)|(?<=\w)@ {1,2}(?=\w)")
_DOT = re.compile(
    rf"\s{{0,3}}{_OPEN}\s{{0,3}}(?:{DOT_WORDS}|\.|,)\s{{0,3}}{_CLOSE}\s{{0,3}}"
    rf"|[ \t]{{0,3}}{_FENCE}[ \t]?(?:{DOT_WORDS})[ \t]?{_FENCE}[ \t]{{0,3}}"
    rf"|[ \t]{{1,3}}(?:{DOT_WORDS})[ \t]{{1,3}}|[ \t]{{1,2}}\.[ \t]{{1,2}}",
    re.IGNORECASE,
)
_MAIL_LABEL = re.compile(
    r"(?:e-?mail|mail|correo|courriel|e-?post|e-?posta)\b[^\w\n]{0,4}\Z", re.IGNORECASE
)
_NOT_NAMES = split_words(
    "us me look available shop online more here visit now live meet find it them him her out "
    "email mail contact website site stay working works worked arrive page and or is are be "
    "team only read see buy order book located based hosted listed published posted starts "
    "open met was were been go going went join sign"
)
_COMMON_MAILBOXES = split_words("info office mail hello kontakt contacto contato webmaster admin")


def read_at_dot(text: str, *, site: str | None = None) -> Iterator[DecodedText]:
    left_to_look_at = MAX_CANDIDATES
    for pattern in _list_patterns(text):
        for match in pattern.finditer(text):
            left_to_look_at -= 1
            if left_to_look_at < 0:
                return
            decoded = _parse_match(text, match, pattern, site)
            if decoded is not None:
                yield decoded


def read_at_dot_links(page: TokenizedPage) -> Iterator[DecodedText]:
    for href, place in page.links:
        if href[:7].lower() == "mailto:" and "@" not in href:
            for decoded in read_at_dot(" ".join(parse_recipients(href)), site=page.site):
                yield DecodedText(decoded.text, decoded.raw, ExtractionMethod.AT_DOT, place)


def read_at_dot_attributes(page: TokenizedPage) -> Iterator[DecodedText]:
    """Read addresses from text attributes such as `alt` and `title`."""
    for tag in chain.from_iterable(
        map(page.find_tags, ("(at)", "[at]", "(dot)", "[dot]", " dot "))
    ):
        for name, value in tag.attributes.items():
            if name in _TEXT_ATTRIBUTES and len(value) <= 3 * _CONTEXT_CHARACTERS:
                for decoded in read_at_dot(value, site=page.site):
                    yield DecodedText(
                        decoded.text,
                        decoded.raw,
                        ExtractionMethod.AT_DOT,
                        page.get_position(tag.index),
                    )


def _list_patterns(text: str) -> Iterator[re.Pattern[str]]:
    """Yield the patterns whose marker characters occur in the text; most texts need none."""
    if _has_enclosed_at_word(text.lower()):
        yield _BRACKETED_AT
        yield _FENCED_AT
    if "“" in text or "‘" in text:
        yield _QUOTED_AT
    for word, pattern in _BARE_AT.items():
        if f" {word} " in text:
            yield pattern
    if "@" in text:
        yield _SIGN_BEFORE_HIDDEN_DOT
        if " @" in text or "@ " in text:
            yield _SPACED_SIGN


def _has_enclosed_at_word(lowered: str) -> bool:
    """Return whether the text has an enclosed "at", such as `(at)`.

    A cheap check that is much faster than a case-insensitive search with the full patterns.
    """
    for pattern in (_AT_BEFORE_SIGN, _SIGN_BEFORE_SIGN):
        for match in pattern.finditer(lowered):
            before = lowered[max(0, match.start() - 3) : match.start()].rstrip()
            if before[-1:] in _ENCLOSING_SIGNS and before:
                return True
    return any(sign in lowered for sign in _RARE_AT_MARKERS)


_SINGLE_LINE_PATTERNS = (*_BARE_AT.values(), _SPACED_SIGN)


def _parse_match(
    text: str, match: re.Match[str], pattern: re.Pattern[str], site: str | None
) -> DecodedText | None:
    before = text[max(0, match.start() - _CONTEXT_CHARACTERS) : match.start()]
    after = text[match.end() : match.end() + 2 * _CONTEXT_CHARACTERS]
    before = before.rstrip(" \t" if pattern in _SINGLE_LINE_PATTERNS else None)
    before, after = before.rpartition(_WIDE_GAP)[2], after.partition(_WIDE_GAP)[0]
    left, right = _DOT.sub(".", before), _DOT.sub(".", after)
    email = match_email(f"{left}@{right}", len(left), site=site)
    if email is None:
        return None
    local, domain = email.raw.split("@")
    if pattern in _SINGLE_LINE_PATTERNS:
        dots_were_hidden = not after.startswith(domain)
        if not _is_probable_address(match[0], local, before, dots_were_hidden=dots_were_hidden):
            return None
    end = match.end() + _measure_domain(after, domain)
    start = len(text[: match.start()].rstrip()) - len(local)
    raw = text[max(0, start) : end].strip()
    return DecodedText(email.value, raw, ExtractionMethod.AT_DOT, span=(max(0, start), end))


def _measure_domain(written: str, domain: str) -> int:
    """Return the length of the domain in the text, with its dots as written (`[dot]`)."""
    if written.startswith(domain):
        return len(domain)
    last = domain.rpartition(".")[2]
    return max(0, written.find(last)) + len(last)


def _is_probable_address(at: str, local: str, before: str, *, dots_were_hidden: bool) -> bool:
    """Return whether a bare "at" or a lone "@" belongs to an address.

    Prose uses both as well: "meet us at example.org".
    """
    if local.lower() in _NOT_NAMES or len(local) < 2:
        return False
    if dots_were_hidden or "@ " in at or at.strip() in _UNAMBIGUOUS_AT_WORDS:
        return True
    labelled = _MAIL_LABEL.search(before[: -len(local)]) is not None
    if labelled or local.lower() in _COMMON_MAILBOXES:
        return True
    if at.strip() == "@":
        return False  # ` @name.city` is a social-media handle
    return (at.strip() == "AT" and not local.isupper()) or any(sign in local for sign in "._")
