"""Contact models: channels, extraction methods with their confidence, sightings and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def strip_unstorable(text: str) -> str:
    """Remove NUL and surrogates, which databases reject; JSON escapes can contain them."""
    return _UNSTORABLE.sub("", text)


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class ContactChannel(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    SOCIAL = "social"


class ExtractionMethod(StrEnum):
    """How a contact was found; the second group decodes obfuscated contacts.

    Each method has a confidence: contacts meant to be used, such as links, score higher than
    incidental ones.
    """

    confidence: float

    def __new__(cls, value: str, confidence: float = 0.0) -> ExtractionMethod:
        method = str.__new__(cls, value)
        method._value_ = value
        method.confidence = confidence
        return method

    MAILTO = "mailto", 0.95
    TEL = "tel", 0.95
    LINK = "link", 0.9
    SAME_AS = "same_as", 0.95
    JSON_LD = "json_ld", 0.95
    MICRODATA = "microdata", 0.93
    RDFA = "rdfa", 0.92
    HCARD = "hcard", 0.92
    VCARD = "vcard", 0.92
    META = "meta", 0.8
    TEXT = "text", 0.85
    NOSCRIPT = "noscript", 0.82
    ONCLICK = "onclick", 0.8
    FORM = "form", 0.65
    ATTRIBUTE = "attribute", 0.6
    JSON = "json", 0.55
    SCRIPT = "script", 0.45

    CLOUDFLARE = "cloudflare", 0.95
    TYPO3 = "typo3", 0.95
    JOOMLA = "joomla", 0.94
    SPAMSPAN = "spamspan", 0.93
    WORDPRESS_ENCODER = "wordpress_encoder", 0.92
    CRYPTX = "cryptx", 0.92
    ENKODER = "enkoder", 0.9
    JAVASCRIPT = "javascript", 0.78
    SPLIT_ATTRIBUTES = "split_attributes", 0.88
    BASE64 = "base64", 0.8
    ROT13 = "rot13", 0.8
    REVERSED = "reversed", 0.75
    AT_DOT = "at_dot", 0.75
    ENTITIES = "entities", 0.75


OWN_DOMAIN_BONUS = 0.04
"""Added for addresses on the page's own domain, which almost certainly belong to its owner."""
PLACEHOLDER_DOMAIN_CONFIDENCE = 0.1
"""For addresses such as `info@example.com`, which appear in text but are not real mailboxes."""
MAX_SNIPPET_CHARACTERS = 200


@dataclass(frozen=True)
class FoundContact:
    """An e-mail address, phone number or profile, with its best sighting."""

    kind: ContactChannel
    value: str
    """E-mail: lower case, domain in A-labels. Phone: E.164. Profile: normalized URL."""
    raw: str
    """As written in the page, before decoding."""
    method: ExtractionMethod
    snippet: str
    """Surrounding text, as evidence for a reviewer."""
    confidence: float
    name: str | None = None
    """The person it belongs to, if the page's structured data names one."""
    role: str | None = None
    is_role_address: bool = False
    """A shared inbox such as `info@` or `kontakt@`."""
    same_site: bool | None = None
    """Whether an e-mail is on the page's own registrable domain; None for other kinds."""


@dataclass(frozen=True, slots=True)
class ContactMatch:
    """An address or phone number in a text: normalized, as written, and its position."""

    value: str
    raw: str
    start: int
    end: int


@dataclass(frozen=True)
class ContactSighting:
    """One occurrence of a contact, before duplicates are merged."""

    kind: ContactChannel
    value: str
    raw: str
    method: ExtractionMethod
    place: int | None = None
    """Position in the page's markup."""
    span: tuple[int, int] | None = None
    """Start and end in the page's text."""
    snippet: str = ""
    """The snippet, when it comes from neither the markup nor the text."""
    name: str | None = None
    role: str | None = None

    def merge_person(self, other: ContactSighting) -> ContactSighting:
        """Fill in a missing name or role from another sighting of the same contact."""
        if (self.name or not other.name) and (self.role or not other.role):
            return self
        return replace(self, name=self.name or other.name, role=self.role or other.role)


@dataclass(frozen=True)
class ContactSearchResult:
    contacts: tuple[FoundContact, ...]
    capped: tuple[str, ...] = ()
    """The limits the page hit; content beyond them was not searched."""


class StatementKind(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    PROFILE = "profile"
    COUNTRY = "country"


@dataclass(frozen=True)
class ContactStatement:
    says: StatementKind
    value: str
    method: ExtractionMethod
    place: int | None = None
    name: str | None = None
    role: str | None = None
    snippet: str = ""


KIND_BY_PROPERTY: dict[str, StatementKind] = {
    "email": StatementKind.EMAIL,
    "e-mail": StatementKind.EMAIL,
    "mbox": StatementKind.EMAIL,
    "telephone": StatementKind.PHONE,
    "phone": StatementKind.PHONE,
    "tel": StatementKind.PHONE,
    "mobile": StatementKind.PHONE,
    "sameas": StatementKind.PROFILE,
    "account": StatementKind.PROFILE,
    "addresscountry": StatementKind.COUNTRY,
    "country-name": StatementKind.COUNTRY,
}
"""Keys are lower-case property names of schema.org, FOAF and vCard; fax properties are excluded."""


def shorten(text: object, limit: int = 120) -> str | None:
    """Collapse whitespace and truncate a name or role; None if empty or not a string."""
    if not isinstance(text, str):
        return None
    return " ".join(text.split())[:limit] or None
