"""Find and validate e-mail addresses in text and in `mailto:` links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import idna

from scrapersky.scraper.contacts import words
from scrapersky.scraper.contacts.markup import strip_invisible
from scrapersky.scraper.http.public_suffixes import has_known_suffix

MAX_LOCAL_CHARACTERS = 64
MAX_DOMAIN_CHARACTERS = 253

# The local part is matched backwards from the "@". Only characters in common use are allowed: a
# wider set would include text in front of the address (`email=`, `(`, `*`).
_LOCAL_BACKWARDS = re.compile(r"[A-Za-z0-9._%+'\-]{1,200}")
_DOMAIN = re.compile(r"[^\W_](?:[\w\-]{0,61}[^\W_])?(?:\.[^\W_](?:[\w\-]{0,61}[^\W_])?){1,10}")
_ASCII_DOMAIN = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9]"
    r"(?:[a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?){1,10}"
)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?\Z")
_ESCAPE_REMAINS = re.compile(r"(?:%[0-9a-fA-F]{2}|u00[0-9a-f]{2})+")
_GLUED_WORD = re.compile(r"([a-z]{2,})[A-Z][A-Za-z\-]*\Z")
_GLUED_NUMBER = re.compile(r"(?:\d{2,5}[-.]){2,4}\d{2,5}(?=[A-Za-z])")
_KEY = re.compile(r"[0-9a-f]{20,}\Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")
_FIRST_WORD = re.compile(r"[._+\-\d]")
_RETINA = re.compile(r"[1-4]x\.")
_NOT_BEFORE_LOCAL = ("@", "\\")
"""Characters that rule out an address when they precede the local part.

`@name@server` is a handle. After a backslash, the first letter belongs to an escape sequence.
"""
_USER_IN_URL = re.compile(r"//[^\s/@\"'<>]*\Z")


@dataclass(frozen=True)
class EmailMatch:
    value: str
    raw: str
    start: int
    end: int


def find_emails(text: str, *, limit: int, site: str | None = None) -> Iterator[EmailMatch]:
    """Yield the addresses in the text, checking at most `limit` occurrences of "@"."""
    position = -1
    for _ in range(limit):
        position = text.find("@", position + 1)
        if position < 0:
            return
        email = match_email(text, position, site=site)
        if email is not None:
            yield email


def match_email(text: str, at: int, *, site: str | None = None) -> EmailMatch | None:
    """Return the address around the "@" at index `at`, or None."""
    local = _read_local_part(text, at)
    written = _read_domain(text, at, site) if local else None
    domain = parse_mail_domain(written, site) if written else None
    if domain is None or not is_usable_address(local.lower(), domain):
        return None
    start = at - len(local)
    raw = f"{local}@{written}"
    return EmailMatch(f"{local.lower()}@{domain}", raw, start, start + len(raw))


def parse_email(text: str, *, site: str | None = None) -> str | None:
    """Return the address if the whole value is one, as in `mailto:` links or structured data."""
    text = text.strip().strip("<>\"'.,;: ").strip()
    at = text.rfind("@")
    if at < 0 or len(text) > 320:
        return None
    found = match_email(text, at, site=site)
    return found.value if found and found.end - found.start == len(text) else None


def _read_local_part(text: str, at: int) -> str:
    """Return the local part in front of the "@", or an empty string.

    A Latin letter with a diacritic before the match rejects it, so `müller@` never becomes `ller@`.
    A character of another script ends the local part, because the address starts after it.
    """
    match = _LOCAL_BACKWARDS.match(text[max(0, at - 201) : at][::-1])
    if match is None:
        return ""
    local = match[0][::-1]
    start = at - len(local)
    before = text[start - 1] if start else ""
    local = _ESCAPE_REMAINS.sub("", local, count=1) if local[:1] in "%u" else local
    local = _GLUED_NUMBER.sub("", local, count=1) if local[:1].isdigit() else local
    local = local.rpartition("..")[2].lstrip("._%+'-") if not local.endswith("..") else ""
    if before in _NOT_BEFORE_LOCAL or ("À" <= before <= "ɏ" and at - len(local) == start):
        return ""
    if before in ("/", ":") and _USER_IN_URL.search(text[max(0, start - 80) : start]):
        return ""
    return local


def _read_domain(text: str, at: int, site: str | None) -> str | None:
    rest = text[at + 1 : at + 2 + MAX_DOMAIN_CHARACTERS]
    for pattern in (_DOMAIN, _ASCII_DOMAIN) if not rest.isascii() else (_ASCII_DOMAIN,):
        match = pattern.match(rest)
        if match and (domain := _trim_to_known_suffix(match[0], site)):
            return domain
    return None


def _trim_to_known_suffix(domain: str, site: str | None) -> str | None:
    first, www, _ = domain.partition("www.")
    if www and parse_mail_domain(first, site):
        return first  # "info@example.orgwww.example.org"
    if parse_mail_domain(domain, site):
        return domain
    head, _, last = domain.rpartition(".")
    glued = _GLUED_WORD.match(last)
    if glued and parse_mail_domain(f"{head}.{glued[1]}", site):
        return f"{head}.{glued[1]}"
    if last[:1].isupper() and "." in head and parse_mail_domain(head, site):
        return head  # "write to info@example.org.Thank you"
    return None


@lru_cache(maxsize=4096)
def parse_mail_domain(written: str, site: str | None = None) -> str | None:
    """Return the domain in A-labels if it has a public suffix or belongs to `site`."""
    domain = to_a_label(written)
    if domain is None or _RETINA.match(domain):
        return None
    known = has_known_suffix(domain) or (site is not None and is_same_or_subdomain(domain, site))
    return domain if known else None


def is_same_or_subdomain(domain: str, site: str) -> bool:
    return domain == site or domain.endswith("." + site)


def to_a_label(domain: str) -> str | None:
    """Return the domain in lower case and A-labels, or None if it is not a valid domain name."""
    domain = domain.lower()
    if not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            return None
    labels = domain.split(".")
    if len(labels) < 2 or len(domain) > MAX_DOMAIN_CHARACTERS or labels[-1].isdigit():
        return None
    return domain if all(map(_LABEL.match, labels)) else None


def is_usable_address(local: str, domain: str) -> bool:
    """Return whether an address is well formed and neither a placeholder nor a machine key.

    Both parts must be in lower case.
    """
    return (
        0 < len(local) <= MAX_LOCAL_CHARACTERS
        and local[-1] not in ".-+'%"
        and ".." not in local
        and any(map(str.isalnum, local))
        and not is_placeholder(local, domain)
        and not is_machine_key(local, domain)
    )


def is_machine_key(local: str, domain: str) -> bool:
    return _KEY.match(local) is not None or f".{domain}".endswith(words.MACHINE_DOMAINS)


def is_placeholder(local: str, domain: str) -> bool:
    """Return whether the address is an example or a template default the owner never replaced."""
    if local in words.PLACEHOLDER_NAMES or f"{local}@{domain}" in words.PLACEHOLDER_ADDRESSES:
        return True
    if domain.split(".")[-2] in words.PLACEHOLDER_DOMAINS or domain.endswith(".tld"):
        return True
    return is_example_domain(domain) and local in words.PLACEHOLDER_NAMES_AT_EXAMPLES


def is_example_domain(domain: str) -> bool:
    labels = domain.split(".")
    return any(".".join(labels[-count:]) in words.EXAMPLE_DOMAINS for count in (2, 3))


def is_undeliverable(email: str, *, on_test_site: bool = False) -> bool:
    """Return whether the domain is reserved for documentation (RFC 2606) and receives no mail.

    Sites under `.example` belong to tests or demos. With `on_test_site`, `.example` addresses are
    accepted.
    """
    domain = email.rpartition("@")[2].lower()
    if ".".join(domain.split(".")[-2:]) in words.RESERVED_DOMAINS:
        return True
    return domain.endswith(".example") and not on_test_site


def is_role_address(email: str) -> bool:
    local = email.partition("@")[0]
    return local in words.ROLE_WORDS or _FIRST_WORD.split(local, 1)[0] in words.ROLE_WORDS


MAX_MAILTO_CHARACTERS = 65_536
_MAILTO_SCHEME = re.compile(
    r"\s*(?:https?:/{0,2}|//)?\s*(?:e?-?mail-?to|mailt0|mailo|mail|email)\s{0,3}(?::|%3a)"
    r"(?:\s|/|%20|mailto:)*",
    re.IGNORECASE,
)
_RECIPIENT_SEPARATORS = re.compile(r"[,;]")
_RECIPIENT_FIELDS = ("to=", "cc=", "bcc=")


def is_mailto(href: str) -> bool:
    return _MAILTO_SCHEME.match(href[:60]) is not None


def parse_recipients(href: str) -> Iterator[str]:
    """Yield each recipient of a `mailto:` link as written; subject and body are ignored."""
    href = strip_invisible(href[:MAX_MAILTO_CHARACTERS])
    match = _MAILTO_SCHEME.match(href)
    rest = href[match.end() :] if match else href
    path, mark, query = rest.partition("?")
    if not mark:
        path, _, query = rest.partition("&")
    yield from _split_recipients(path)
    for field in re.split(r"[&?]", query):
        if field.lower().startswith(_RECIPIENT_FIELDS):
            yield from _split_recipients(field.partition("=")[2])


def _split_recipients(written: str) -> Iterator[str]:
    decoded = unquote(unquote(written)).partition("?")[0]  # the "?" may be percent-encoded as well
    for part in _RECIPIENT_SEPARATORS.split(decoded):
        if part.count("@") > 1:
            yield from (word for word in part.split() if "@" in word)
        elif "<" in part:
            yield part.rpartition("<")[2].partition(">")[0]
        elif part.strip():
            yield part.strip()
