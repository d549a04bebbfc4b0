"""Find, validate and classify e-mail addresses in text and in `mailto:` links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from urllib.parse import unquote

import idna

from scrapersky.scraper.contacts.markup import strip_invisible
from scrapersky.scraper.contacts.model import ContactMatch, split_words
from scrapersky.scraper.http.urls import has_known_suffix

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
MACHINE_DOMAINS = (".sentry.io", ".wixpress.com", ".sentry-cdn.com", ".bugsnag.com", ".rollbar.com")
"""Error reporting services, whose keys look like addresses."""
_USER_IN_URL = re.compile(r"//[^\s/@\"'<>]*\Z")


def find_emails(text: str, *, limit: int, site: str | None = None) -> Iterator[ContactMatch]:
    """Yield the addresses in the text, checking at most `limit` occurrences of "@"."""
    position = -1
    for _ in range(limit):
        position = text.find("@", position + 1)
        if position < 0:
            return
        email = match_email(text, position, site=site)
        if email is not None:
            yield email


def match_email(text: str, at: int, *, site: str | None = None) -> ContactMatch | None:
    """Return the address around the "@" at index `at`, or None."""
    local = _read_local_part(text, at)
    written = _read_domain(text, at, site) if local else None
    domain = parse_mail_domain(written, site) if written else None
    if domain is None or not is_usable_address(local.lower(), domain):
        return None
    start = at - len(local)
    raw = f"{local}@{written}"
    return ContactMatch(f"{local.lower()}@{domain}", raw, start, start + len(raw))


def parse_email(text: str, *, site: str | None = None) -> str | None:
    """Return the address if the whole value is one, as in `mailto:` links or structured data."""
    text = text.strip().strip("<>\"'.,;: ").strip()
    at = text.rfind("@")
    if at < 0 or len(text) > 320:
        return None
    match = match_email(text, at, site=site)
    return match.value if match and match.end - match.start == len(text) else None


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
        and not _KEY.match(local)
        and not f".{domain}".endswith(MACHINE_DOMAINS)
    )


@cache
def _load_words() -> dict[str, frozenset[str]]:
    """Load the lists of `words.toml` on first use."""
    text = files(__package__).joinpath("words.toml").read_text("utf-8")
    return {name: split_words(words) for name, words in tomllib.loads(text).items()}


def is_placeholder(local: str, domain: str) -> bool:
    """Return whether the address is an example or a template default the owner never replaced."""
    words = _load_words()
    if local in words["placeholder_names"] or f"{local}@{domain}" in words["placeholder_addresses"]:
        return True
    if domain.split(".")[-2] in words["placeholder_domains"] or domain.endswith(".tld"):
        return True
    return is_example_domain(domain) and local in words["placeholder_names_at_examples"]


def is_example_domain(domain: str) -> bool:
    labels = domain.split(".")
    return any(".".join(labels[-count:]) in _load_words()["example_domains"] for count in (2, 3))


def is_undeliverable(email: str, *, on_test_site: bool = False) -> bool:
    """Return whether the domain is reserved for documentation (RFC 2606) and receives no mail.

    Sites under `.example` belong to tests or demos. With `on_test_site`, `.example` addresses are
    accepted.
    """
    domain = email.rpartition("@")[2].lower()
    if ".".join(domain.split(".")[-2:]) in _load_words()["reserved_domains"]:
        return True
    return domain.endswith(".example") and not on_test_site


def is_role_address(email: str) -> bool:
    local, roles = email.partition("@")[0], _load_words()["role_words"]
    return local in roles or _FIRST_WORD.split(local, 1)[0] in roles


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


class MailboxType(StrEnum):
    SERVICE = "SERVICE"
    """A shared inbox: `info@`, `office@`."""
    CORPORATE = "CORPORATE"
    """A person at the site's own domain."""
    FREE = "FREE"
    """A mailbox at a public provider, whether a person or a team reads it."""
    UNKNOWN = "UNKNOWN"


def classify_email(value: str, *, is_role_address: bool, same_site: bool) -> MailboxType:
    """Classify a normalized address: lower case, with the domain in A-labels."""
    if is_free_mail(value.rpartition("@")[2]):
        return MailboxType.FREE
    if is_role_address:
        return MailboxType.SERVICE
    return MailboxType.CORPORATE if same_site else MailboxType.UNKNOWN


def is_free_mail(domain: str) -> bool:
    """Return whether the domain, or one of its parent domains, is a free-mail provider."""
    labels = domain.split(".")
    return any(
        ".".join(labels[place:]) in _load_free_mail_domains() for place in range(len(labels) - 1)
    )


@cache
def _load_free_mail_domains() -> frozenset[str]:
    lines = files(__package__).joinpath("free_mail_providers.txt").read_text("utf-8").splitlines()
    return frozenset(name for line in lines if not line.startswith("#") for name in line.split())
