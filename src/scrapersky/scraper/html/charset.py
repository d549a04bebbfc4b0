"""Decode the bytes of a page, even if it declares the wrong encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

SNIFF_BYTES = 4096
"""Browsers search the first 1,024 bytes for a charset `meta`; some pages put scripts before it."""
MIN_UTF8_RATIO = 20
"""Valid non-ASCII characters required per invalid one to treat a page as UTF-8.

A page that declares UTF-8 needs only one.
"""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9._:\-]{2,40})", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:\-]{2,40})", re.IGNORECASE
)
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""The superset that browsers use instead of the declared encoding."""
_CODEC_ALIASES = {
    "x-sjis": "cp932",
    "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
}
_SINGLE_BYTE = re.compile(r"cp125[0-8]|cp866|cp874|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)")
_MULTI_BYTE = frozenset({"gb18030", "big5hkscs", "euc_jp", "iso2022_jp", "cp932", "cp949"})


@dataclass(frozen=True)
class DecodedPage:
    """A page's text, with the encoding used to decode it."""

    text: str
    charset: str
    """The encoding actually used, regardless of the declared one."""
    lossy: bool = False
    """Whether invalid bytes were replaced with U+FFFD."""


def decode_page(body: bytes, content_type: str | None = None) -> DecodedPage:
    """Decode a page by its byte order mark, its bytes, the header or its `meta`, in that order."""
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return _decode(body[len(mark) :], charset)
    if wide := _detect_utf16(body):
        return _decode(body, wide)
    declared = list(dict.fromkeys(_list_declared(body, content_type)))
    if "iso2022_jp" in declared and b"\x1b" in body:
        return _decode(body, "iso2022_jp")
    if _fits(body, "utf-8") or _is_mostly_utf8(body, declared):
        return _decode(body, "utf-8")
    others = [charset for charset in declared if charset != "utf-8"] or ["cp1252"]
    return _decode(body, next((each for each in others if _fits(body, each)), others[0]))


def _detect_utf16(body: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: every second byte of ASCII characters is zero."""
    start = body[:8]
    if len(start) < 4:
        return None
    if start[1:4:2] == b"\0\0" and 0 not in start[0:4:2]:
        return "utf-16-le"
    return "utf-16-be" if start[0:4:2] == b"\0\0" and 0 not in start[1:4:2] else None


def _list_declared(body: bytes, content_type: str | None) -> Iterator[str]:
    """Yield the web encodings declared in the header and the page."""
    names = [match[1] for match in [_CHARSET.search(content_type or "")] if match]
    names += [each.decode("ascii") for each in _META_CHARSET.findall(body[:SNIFF_BYTES])]
    for name in names:
        if charset := _get_codec(name.lower()):
            yield charset


def _get_codec(name: str) -> str | None:
    """Return the codec if it is a web encoding.

    Python has other codecs as well, some of which are not text encodings.
    """
    try:
        known = codecs.lookup(_CODEC_ALIASES.get(name, name)).name
    except (LookupError, ValueError):
        return None
    known = _SUPERSETS.get(known, known)
    is_usable = known == "utf-8" or known in _MULTI_BYTE or _SINGLE_BYTE.fullmatch(known)
    return known if is_usable else None


def _fits(body: bytes, charset: str) -> bool:
    try:
        # An incremental decoder accepts a last character that is cut off at the end of the body.
        codecs.getincrementaldecoder(charset)("strict").decode(body)
    except UnicodeError:
        return False
    return True


def _is_mostly_utf8(body: bytes, declared: list[str]) -> bool:
    text = body.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = sum(1 for character in text if character > "\x7f") - wrong
    return right >= wrong * (1 if "utf-8" in declared[:1] else MIN_UTF8_RATIO)


def _decode(body: bytes, charset: str) -> DecodedPage:
    try:
        text, lossy = codecs.getincrementaldecoder(charset)("strict").decode(body), False
    except UnicodeError:
        text, lossy = body.decode(charset, "replace"), True
    # The web's label of the codec: `windows-1252` for `cp1252`.
    name = re.sub(r"^cp(?=125\d|874)", "windows-", charset)
    return DecodedPage(text, re.sub(r"^iso8859-", "iso-8859-", name).replace("_", "-"), lossy)
