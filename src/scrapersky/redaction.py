"""Remove secrets from text.

Whatever leaves the program as text passes `redact`: log lines, error messages, stored errors and
tracebacks, and what the command line prints about a failure. It removes the values of secret
settings wherever they occur, and anything that looks like a secret in the usual places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, quote, unquote, urlsplit

REDACTED = "***"
MIN_SECRET_LENGTH = 4
"""A shorter secret would match inside ordinary words, and is too weak to protect anything."""

MIN_PATH_LENGTH = 16

_VALUE_CHARACTER = r"[^\s\"'&;,<>)\]}\\]"
_USER_INFO = re.compile(r"(?<=://)[^\s/?#\"'<>\\]*@")
_WORD_START = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""Start of a word, also after a line end escaped as in JSON."""
_QUOTED = r"(\\\")(?:[^\"\\]|\\[^\"])*(?:\\\")?|([\"'])(?:(?!\4)[^\\\r\n]|\\.)*\4?"
"""A quoted value; the first alternative is a string nested in a string. The quotes are groups 3 and
4 of every pattern.
"""
_REPLACEMENT = rf"\1\2\3\4{REDACTED}\3\4"
_TO_LINE_END = r"(?:[^\"'\\\r\n]|\\[^nr\"]|(?<==)\"[^\"\r\n]*\"(?=\s*(?:;|$)))*"
"""To the end of the line, or to the closing quote of the enclosing string: a log line must remain
valid JSON.
"""
_FIELD_NAMES = (
    r"(?:[\w-]{0,40}[_-])?(?:api|access|auth|refresh|client|secret|private|signing|session|csrf)"
    r"[_-]?(?:key|token|secret)"
    r"|(?:[\w-]{0,40}[_-])?(?:secret|password|passwd|pwd)|key|token|signature"
)
_IN_TUPLE = r"[\"'],\s{0,3}b?(?=[\"'])"
"""The separator in a tuple such as `(b"cookie", b"a=1")`."""
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        # All pairs of a Cookie header.
        re.compile(
            rf"{_WORD_START}((?:set-)?cookie)"
            rf"(\\?[\"']?\s{{0,3}}:\s{{0,3}}(?:b(?=[\"']))?|{_IN_TUPLE})"
            rf"(?:{_QUOTED}|{_TO_LINE_END})",
            re.IGNORECASE | re.MULTILINE,
        ),
        _REPLACEMENT,
    ),
    (
        re.compile(
            rf"{_WORD_START}((?:proxy-)?authorization|x-[\w-]{{0,40}}(?:key|token)|(?:set-)?cookie)"
            rf"(\\?[\"']?\s{{0,3}}[:=]\s{{0,3}}(?:b(?=[\"']))?\\?[\"']?|{_IN_TUPLE}[\"'])"
            rf"(?:(?:bearer|basic|digest|token)\s+)?{_VALUE_CHARACTER}+",
            re.IGNORECASE,
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(rf"{_WORD_START}(bearer)\s+[\w.~+/=-]{{8,}}", re.IGNORECASE), rf"\1 {REDACTED}"),
    (re.compile(rf"{_WORD_START}sky_[\w-]{{8,}}"), f"sky_{REDACTED}"),
    (re.compile(rf"{_WORD_START}whsec_[\w+/=-]{{8,}}"), f"whsec_{REDACTED}"),
    (re.compile(rf"{_WORD_START}eyJ[\w-]{{8,}}\.[\w-]{{8,}}(?:\.[\w-]*)?"), REDACTED),
    (
        # `api_key=…`, `api_key="…"`
        re.compile(
            rf"{_WORD_START}({_FIELD_NAMES})(=)(?!\s)(?:{_QUOTED}|{_VALUE_CHARACTER}+)",
            re.IGNORECASE,
        ),
        _REPLACEMENT,
    ),
    (
        # `"api_key": "…"`
        re.compile(
            rf"([\"'](?:{_FIELD_NAMES})\\?[\"'])(\s{{0,3}}:\s{{0,3}})(?:{_QUOTED})",
            re.IGNORECASE,
        ),
        _REPLACEMENT,
    ),
)
"""Each pattern starts with a fixed word and ends at the next space or quote, or at the end of the
line. This keeps matching linear on any input.
"""

_known: dict[str, None] = {}
_values: re.Pattern[str] | None = None


def register_secrets(secrets: Iterable[str]) -> None:
    """Redact these values from all further text of this process."""
    global _values
    spellings = {each for secret in secrets for each in _list_spellings(secret)}
    _known.update(dict.fromkeys(spellings))
    longest_first = sorted(_known, key=len, reverse=True)
    _values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def redact(text: str) -> str:
    """Return the text with its secrets replaced; the rest is unchanged."""
    if _values is not None:
        text = _values.sub(REDACTED, text)
    if "://" in text:
        text = _USER_INFO.sub(_redact_password, text)
    for pattern, put_in in _PATTERNS:
        text = pattern.sub(put_in, text)
    return text


def find_secrets(value: str, *, whole: bool = True) -> list[str]:
    """Return the parts of a secret setting that must not be shown.

    For a URL with a password, that is the password. For a URL without one it is nothing, unless the
    `whole` URL grants access, as a webhook's does.
    """
    if "://" not in value:
        return [value]
    try:
        parts = urlsplit(value)
        password, host = parts.password, parts.hostname
    except ValueError:
        return [value]
    if password is None:
        return _list_secret_parts(parts) if whole and parts.scheme in ("http", "https") else []
    # A password equal to the user name, host or path cannot be distinguished from them.
    visible = {unquote(each or "") for each in (parts.username, host, parts.path.strip("/"))}
    return [] if unquote(password) in visible else [password]


def _list_secret_parts(parts: SplitResult) -> list[str]:
    """Return the URL, and its path and query separately if they are long enough to be unique."""
    alone = (parts.path.strip("/"), parts.query)
    return [parts.geturl(), *(each for each in alone if len(each) >= MIN_PATH_LENGTH)]


def _list_spellings(secret: str) -> Iterable[str]:
    """Return the secret as is, URL-encoded, and escaped as inside JSON and Python strings."""
    secret = secret.strip()
    plain = unquote(secret)
    spelled = {secret, plain, quote(plain, safe=""), quote(plain)}
    escaped = {json.dumps(each)[1:-1] for each in spelled} | {repr(each)[1:-1] for each in spelled}
    return (each for each in spelled | escaped if len(each) >= MIN_SECRET_LENGTH)


def _redact_password(match: re.Match[str]) -> str:
    user, colon, _ = match[0].rpartition("@")[0].partition(":")
    return f"{user}:{REDACTED}@" if colon else f"{REDACTED}@"
