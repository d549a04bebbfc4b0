"""Decode e-mail addresses that sites hide from bots.

Covers Cloudflare, CMS plugins, split attributes and reversed text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import chain, islice
from urllib.parse import unquote

from scrapersky.scraper.contacts.emails import match_email, parse_email
from scrapersky.scraper.contacts.encodings import (
    DecodedText,
    from_base64,
    read_at_dot,
    read_at_dot_attributes,
    read_at_dot_links,
    read_encoded_attributes,
    rot13,
)
from scrapersky.scraper.contacts.javascript_strings import LITERAL, parse_literal, read_javascript
from scrapersky.scraper.contacts.markup import unescape_entities
from scrapersky.scraper.contacts.model import ExtractionMethod, split_words
from scrapersky.scraper.contacts.page import TokenizedPage

_CLOUDFLARE_CODE = re.compile(
    r"""(?:data-cfemail\s{0,9}=\s{0,9}["']?|/email-protection#)([0-9a-f]{8,1000})""", re.IGNORECASE
)


def read_cloudflare(page: TokenizedPage) -> Iterator[DecodedText]:
    if (
        "cfemail" not in page.lowercase_attributes
        and "email-protection#" not in page.lowercase_attributes
    ):
        return
    for match in _CLOUDFLARE_CODE.finditer(page.attributes):
        key, *rest = bytes.fromhex(match[1][: len(match[1]) // 2 * 2])
        text = bytes(byte ^ key for byte in rest).decode("utf-8", "replace")
        # Cloudflare also protects share links: a subject and a body after a "?".
        if not text.startswith("?"):
            yield DecodedText(
                text.partition("?")[0], match[1], ExtractionMethod.CLOUDFLARE, match.start()
            )


MAX_ENKODER_LAYERS = 40
_MAX_ENKODER_CHARACTERS = 30_000
_MAX_ENKODER_SCRIPTS = 5
_ENKODER_START = re.compile(
    rf"\bvar\s(?:kode|x)\s?=\s{{0,80}}({LITERAL}(?:\s{{0,80}}\+\s{{0,80}}{LITERAL})*+)"
)
_STRING_LITERAL = re.compile(LITERAL)
_ENKODER_KEY = re.compile(r",\s?(\d{1,4})\)\s?\Z")
_ENKODER_KEY_STEPS = re.compile(r"if\(i([<>])(\d{1,5})\)y\+\+")


def read_enkoder(page: TokenizedPage) -> Iterator[DecodedText]:
    wrapped = [each for each in page.scripts if "eval(" in each[0].text[:_MAX_ENKODER_CHARACTERS]]
    for script, place in wrapped[:_MAX_ENKODER_SCRIPTS]:
        match = _ENKODER_START.search(script.text[:_MAX_ENKODER_CHARACTERS])
        if match and (text := unwrap_enkoder(_join_literals(match[1]))):
            yield DecodedText(text, match[0][:200], ExtractionMethod.ENKODER, place)


def _join_literals(literals: str) -> str:
    return "".join(parse_literal(part) for part in _STRING_LITERAL.findall(literals))


def unwrap_enkoder(code: str) -> str | None:
    """Return what the innermost layer writes into the page, or None."""
    for _ in range(MAX_ENKODER_LAYERS):
        if "document.write(" in code[:60] or ("@" in code and "mailto" in code):
            return code.replace('\\"', '"')
        inner = _unwrap_once(code)
        if inner is None:
            return None
        code = inner
    return None


def _unwrap_once(code: str) -> str | None:
    start = code.find('"', code.find('f("')) if code.startswith("function") else code.find('"')
    match = _STRING_LITERAL.match(code, start) if start >= 0 else None
    if match is None:
        return None
    around = code[:start] + code[match.end() :]
    text = parse_literal(match[0])
    if "reverse()" in around or "i=l-1" in around:
        return text[::-1]
    if "charCodeAt(i)-3" in around:
        return "".join(chr((ord(character) - 3) % 128) for character in text)
    if "charAt(i+1)" in around:
        even = len(text) // 2 * 2
        return "".join(text[i + 1] + text[i] for i in range(0, even, 2)) + text[even:]
    return _xor_letters(text, around) if "^(y++)" in around else None


def _xor_letters(text: str, program: str) -> str | None:
    key, steps = _ENKODER_KEY.search(program), _ENKODER_KEY_STEPS.search(program)
    if key is None:
        return None
    y, letters = int(key[1]), []
    for i, character in enumerate(text):
        if steps and (i < int(steps[2]) if steps[1] == "<" else i > int(steps[2])):
            y += 1
        y %= 127
        letters.append(chr(ord(character) ^ y))
        y += 1
    return "".join(letters)


MAX_ESCAPED_SIGNS = 500
_ESCAPED_AT_SIGNS = ("&#64;", "&#064;", "&#x40;", "&#x0040;", "&commat;", "%40")
_ESCAPED_CONTEXT_CHARACTERS = 80


def read_escaped_text(page: TokenizedPage) -> Iterator[DecodedText]:
    if "&" not in page.text and "%40" not in page.text:
        return
    looked_at = 0
    for sign in _ESCAPED_AT_SIGNS:
        place = page.text.find(sign)
        while place >= 0 and looked_at < MAX_ESCAPED_SIGNS:
            looked_at += 1
            start = max(0, place - _ESCAPED_CONTEXT_CHARACTERS)
            written = page.text[start : place + _ESCAPED_CONTEXT_CHARACTERS].replace("%40", "@")
            span = (place, place + len(sign))
            yield DecodedText(unescape(written), written, ExtractionMethod.ENTITIES, span=span)
            place = page.text.find(sign, place + len(sign))


def read_joomla(page: TokenizedPage) -> Iterator[DecodedText]:
    if " first=" not in page.lowercase_attributes:
        return
    for tag in page.find_tags(" first="):
        first, last = (from_base64(tag.attributes.get(name, "")) for name in ("first", "last"))
        if tag.name == "joomla-hidden-mail" and first and last:
            raw = f"{tag.attributes['first']} {tag.attributes['last']}"
            yield DecodedText(
                f"{first}@{last}", raw, ExtractionMethod.JOOMLA, page.get_position(tag.index)
            )


_SPAMSPAN_DOT = re.compile(r"\s{0,3}[\[({]\s{0,3}(?:dot|\.)\s{0,3}[\])}]\s{0,3}", re.IGNORECASE)
_MAX_SPAMSPAN_TAGS = 12


def read_spamspan(page: TokenizedPage) -> Iterator[DecodedText]:
    for tag in page.find_tags("spamspan"):
        # The first span of each class counts: `u` is the user, `d` the domain.
        parts: dict[str, str] = {}
        last = min(tag.index + _MAX_SPAMSPAN_TAGS, len(page.row.names) - 1)
        for inner in range(tag.index + 1, last):
            class_ = page.tag(inner).attributes.get("class", "").strip()
            if class_ in ("u", "d"):
                parts.setdefault(class_, page.row.text(inner, inner + 1))
        if len(parts) == 2:
            user, host = (_SPAMSPAN_DOT.sub(".", parts[name]).strip() for name in "ud")
            place = page.get_position(tag.index)
            yield DecodedText(f"{user}@{host}", f"{user} {host}", ExtractionMethod.SPAMSPAN, place)


_DATA_PREFIX = re.compile(r"data-(?:e?-?mail-|contact-|obfuscated?-|cloak-|addr(?:ess)?-|m-)?")
_USER_NAMES = split_words(
    "user username name local localpart local-part mailbox account u n l part1 part-1 p1 "
    "first before prefix left login box recipient to who person usr a one 1"
)
_DOMAIN_NAMES = split_words(
    "domain host hostname d h part2 part-2 p2 last after right server site website dom "
    "provider at where domainname b two 2 domain-name second"
)
_TLD_NAMES = split_words(
    "tld ext extension suffix t part3 part-3 p3 end com c three 3 topleveldomain"
)


def read_split_attributes(page: TokenizedPage) -> Iterator[DecodedText]:
    second_halves = [name for name in page.data_names if _classify_name(name) == "domain"]
    for tag in chain.from_iterable(map(page.find_tags, sorted(second_halves))):
        parts = _collect_parts(tag.attributes)
        address = parts and _assemble_email(parts, page.site)
        if address:
            place = page.get_position(tag.index)
            yield DecodedText(address, " ".join(parts), ExtractionMethod.SPLIT_ATTRIBUTES, place)


def _collect_parts(attributes: dict[str, str]) -> list[str]:
    """Return the user, the domain and, if it is a separate attribute, the top-level domain."""
    parts: dict[str, str] = {}
    for name, value in attributes.items():
        kind = _classify_name(name)
        if kind and value:
            parts.setdefault(kind, value.strip())
    if "user" not in parts or "domain" not in parts:
        return []
    return [parts[kind] for kind in ("user", "domain", "tld") if kind in parts]


def _classify_name(name: str) -> str:
    match = _DATA_PREFIX.match(name)
    name = name[match.end() :] if match else ""
    if name in _USER_NAMES:
        return "user"
    if name in _DOMAIN_NAMES:
        return "domain"
    return "tld" if name in _TLD_NAMES else ""


def _assemble_email(parts: list[str], site: str | None) -> str | None:
    readers: tuple[Callable[[str], str | None], ...] = (
        str,
        lambda text: text[::-1],
        from_base64,
        rot13,
    )
    for read in readers:
        user, domain, *rest = (read(part) or "" for part in parts)
        for end in ["." + rest[0].lstrip("."), ""] if rest else [""]:
            address = f"{user}@{domain.rstrip('.') if end else domain}{end}"
            if parse_email(address, site=site):
                return address
    return None


MAX_CSS_CONTENTS = 100
_CSS_CONTENT = re.compile(r"""content\s{0,9}:\s{0,9}(?:"([^"{}]{6,200})"|'([^'{}]{6,200})')""")
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")


def read_style_content(page: TokenizedPage) -> Iterator[DecodedText]:
    for match in islice(_CSS_CONTENT.finditer(page.styles), MAX_CSS_CONTENTS):
        written = match[1] or match[2]
        text = _CSS_ESCAPE.sub(lambda escape: chr(min(int(escape[1], 16), 0x10FFFF)), written)
        if "@" in text:
            yield DecodedText(text, written, ExtractionMethod.TEXT)


MAX_TRANSFORMED_SIGNS = 500
_TRANSFORMED_CONTEXT_CHARACTERS = 120
_ROT13_HINTS = ("rot13", "rot-13", "rot_13", "rot18", "znvygb")
_REVERSAL_HINTS = ("rtl", "bidi-override", "revers", "backward")


def read_transformed_text(page: TokenizedPage) -> Iterator[DecodedText]:
    """Decode reversed and rot13 text.

    Only applies to pages with signs of such a transformation, and to text that is not already an
    address.
    """
    if "@" not in page.text:
        return
    scripts = " ".join(script.text[:5_000] for script, _ in page.scripts[:50])
    if ".reverse()" in scripts or _contains_any(
        _REVERSAL_HINTS, page.lowercase_attributes, page.styles
    ):
        yield from _read_transformed(page, lambda text: text[::-1], ExtractionMethod.REVERSED)
    if "+13" in scripts or _contains_any(_ROT13_HINTS, page.lowercase_attributes, scripts):
        yield from _read_transformed(page, rot13, ExtractionMethod.ROT13)


def _contains_any(words: tuple[str, ...], *texts: str) -> bool:
    return any(word in text for text in texts for word in words)


def _read_transformed(
    page: TokenizedPage, decode: Callable[[str], str], method: ExtractionMethod
) -> Iterator[DecodedText]:
    text, at = page.text, -1
    for _ in range(MAX_TRANSFORMED_SIGNS):
        at = text.find("@", at + 1)
        if at < 0:
            return
        if match_email(text, at, site=page.site) is not None:
            continue
        before = text[max(0, at - _TRANSFORMED_CONTEXT_CHARACTERS) : at].rpartition("\n")[2]
        after = text[at + 1 : at + _TRANSFORMED_CONTEXT_CHARACTERS].partition("\n")[0]
        turned = decode(f"{before}@{after}")
        sign = turned.find("@", len(after) if method is ExtractionMethod.REVERSED else len(before))
        email = match_email(turned, sign, site=page.site) if sign >= 0 else None
        if email is not None:
            span = (at - len(before), at + 1 + len(after))
            yield DecodedText(email.value, decode(email.raw), method, span=span)


_TYPO3_CALL = re.compile(r"uncryptmailto\(([^)]{5,1000})", re.IGNORECASE)
_TYPO3_TOKEN = re.compile(
    r"""data-mailto-token\s{0,9}=\s{0,9}["']([^"'<>]{5,1000})""", re.IGNORECASE
)
_TYPO3_RANGES = ((0x2B, 0x3A), (0x40, 0x5A), (0x61, 0x7A))
_MAILTO_PREFIX = "mailto:"


def read_typo3(page: TokenizedPage) -> Iterator[DecodedText]:
    if "uncryptmailto" in page.lowercase_attributes:
        for match in _TYPO3_CALL.finditer(page.attributes):
            argument = unescape_entities(unquote(match[1])).strip()
            yield from _decode_typo3_match(
                argument.lstrip("'\"").partition("'")[0].partition('"')[0], match
            )
    if "data-mailto-token" in page.data_names:
        for match in _TYPO3_TOKEN.finditer(page.attributes):
            yield from _decode_typo3_match(unescape_entities(match[1]), match)


def _decode_typo3_match(token: str, match: re.Match[str]) -> Iterator[DecodedText]:
    text = decrypt_typo3(token) if token else None
    if text is not None:
        yield DecodedText(
            text[len(_MAILTO_PREFIX) :], match[1], ExtractionMethod.TYPO3, match.start()
        )


def decrypt_typo3(token: str) -> str | None:
    """Decrypt a token with the offset that turns it into a `mailto:` link; None if there is none.

    The first letter of the token determines the possible offsets.
    """
    offset = ord(_MAILTO_PREFIX[0]) - ord(token[0])
    for text in (
        # Old TYPO3 versions shift by character code, without wrapping around.
        "".join(chr(min(max(0, ord(character) + offset), 0xFFFF)) for character in token),
        *(_rotate(token, offset + shift) for shift in (0, 26, -26)),
    ):
        if text.lower().startswith(_MAILTO_PREFIX):
            return text
    return None


def _rotate(text: str, offset: int) -> str:
    return "".join(_rotate_character(character, offset) for character in text)


def _rotate_character(character: str, offset: int) -> str:
    code = ord(character)
    for first, last in _TYPO3_RANGES:
        if first <= code <= last:
            return chr(first + (code - first + offset) % (last - first + 1))
    return character


MAX_WORDPRESS_SCRIPTS = 50
_WORDPRESS_ENCODED = re.compile(r"""data-enc-email\s?=\s?["']([^"'<>]{5,400})""", re.IGNORECASE)
_WORDPRESS_LETTERS = re.compile(
    rf"\b[mM][lL]\s?=\s?({LITERAL})\s?[;,]\s{{0,80}}(?:var )?[mM][iI]\s?=\s?({LITERAL})"
)
_CRYPTX_CALL = re.compile(r"decryptx\(([^)]{5,2000})\)", re.IGNORECASE)


def read_wordpress(page: TokenizedPage) -> Iterator[DecodedText]:
    if "data-enc-email" in page.data_names:
        for match in _WORDPRESS_ENCODED.finditer(page.attributes):
            text = rot13(unescape_entities(match[1])).replace("[ng]", "@").replace("[at]", "@")
            yield DecodedText(text, match[1], ExtractionMethod.WORDPRESS_ENCODER, match.start())
    picking = [each for each in page.scripts if "charAt(" in each[0].text]
    for script, place in picking[:MAX_WORDPRESS_SCRIPTS]:
        if letters := _WORDPRESS_LETTERS.search(script.text[:10_000]):
            text = unquote(pick_letters(*map(parse_literal, letters.groups())))
            yield DecodedText(text, letters[0][:200], ExtractionMethod.WORDPRESS_ENCODER, place)


def pick_letters(letters: str, picks: str) -> str:
    """Rebuild the text from the script's alphabet and its indexes into that alphabet."""
    places = (ord(pick) - 48 for pick in picks)
    return "".join(letters[place] for place in places if 0 <= place < len(letters))


def read_cryptx(page: TokenizedPage) -> Iterator[DecodedText]:
    if "decryptx" not in page.lowercase_attributes:
        return
    for match in _CRYPTX_CALL.finditer(page.attributes):
        code = unescape_entities(unquote(match[1])).strip().strip("'\"")
        pairs = zip(code[::2], code[1::2], strict=False)
        for text in (
            # In newer versions, each character follows its own shift; older ones shift by one.
            "".join(chr(max(0, ord(c) - int(by))) if by in "0123456789" else "" for by, c in pairs),
            "".join(chr(max(0, ord(character) - 1)) for character in code),
        ):
            yield DecodedText(
                text.removeprefix("mailto:"), match[1], ExtractionMethod.CRYPTX, match.start()
            )


_READERS: tuple[Callable[[TokenizedPage], Iterator[DecodedText]], ...] = (
    read_cloudflare,
    read_typo3,
    read_joomla,
    read_spamspan,
    read_wordpress,
    read_cryptx,
    read_split_attributes,
    read_encoded_attributes,
    read_enkoder,
    read_javascript,
    read_transformed_text,
    read_escaped_text,
    read_style_content,
    read_at_dot_links,
    read_at_dot_attributes,
)


def read_obfuscated(page: TokenizedPage) -> Iterator[DecodedText]:
    for read in _READERS:
        yield from read(page)
    yield from read_at_dot(page.text, site=page.site)
