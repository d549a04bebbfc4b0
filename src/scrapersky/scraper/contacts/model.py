"""Contact models: channels, extraction methods with their confidence, sightings and statements."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def strip_unstorable(text: str) -> str:
    """Remove NUL and surrogates, which databases reject; JSON escapes can contain them."""
    return _UNSTORABLE.sub("", text)


class ContactChannel(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    SOCIAL = "social"


class ExtractionMethod(StrEnum):
    """How a contact was found; the second group decodes obfuscated contacts."""

    MAILTO = "mailto"
    TEL = "tel"
    LINK = "link"
    SAME_AS = "same_as"
    JSON_LD = "json_ld"
    MICRODATA = "microdata"
    RDFA = "rdfa"
    HCARD = "hcard"
    VCARD = "vcard"
    META = "meta"
    TEXT = "text"
    NOSCRIPT = "noscript"
    ONCLICK = "onclick"
    FORM = "form"
    ATTRIBUTE = "attribute"
    JSON = "json"
    SCRIPT = "script"

    CLOUDFLARE = "cloudflare"
    TYPO3 = "typo3"
    JOOMLA = "joomla"
    SPAMSPAN = "spamspan"
    WORDPRESS_ENCODER = "wordpress_encoder"
    CRYPTX = "cryptx"
    ENKODER = "enkoder"
    JAVASCRIPT = "javascript"
    SPLIT_ATTRIBUTES = "split_attributes"
    BASE64 = "base64"
    ROT13 = "rot13"
    REVERSED = "reversed"
    AT_DOT = "at_dot"
    ENTITIES = "entities"


CONFIDENCE_BY_METHOD: dict[ExtractionMethod, float] = {
    ExtractionMethod.MAILTO: 0.95,
    ExtractionMethod.TEL: 0.95,
    ExtractionMethod.JSON_LD: 0.95,
    ExtractionMethod.SAME_AS: 0.95,
    ExtractionMethod.MICRODATA: 0.93,
    ExtractionMethod.RDFA: 0.92,
    ExtractionMethod.HCARD: 0.92,
    ExtractionMethod.VCARD: 0.92,
    ExtractionMethod.CLOUDFLARE: 0.95,
    ExtractionMethod.TYPO3: 0.95,
    ExtractionMethod.JOOMLA: 0.94,
    ExtractionMethod.SPAMSPAN: 0.93,
    ExtractionMethod.WORDPRESS_ENCODER: 0.92,
    ExtractionMethod.CRYPTX: 0.92,
    ExtractionMethod.ENKODER: 0.9,
    ExtractionMethod.LINK: 0.9,
    ExtractionMethod.SPLIT_ATTRIBUTES: 0.88,
    ExtractionMethod.TEXT: 0.85,
    ExtractionMethod.NOSCRIPT: 0.82,
    ExtractionMethod.ONCLICK: 0.8,
    ExtractionMethod.META: 0.8,
    ExtractionMethod.BASE64: 0.8,
    ExtractionMethod.ROT13: 0.8,
    ExtractionMethod.JAVASCRIPT: 0.78,
    ExtractionMethod.AT_DOT: 0.75,
    ExtractionMethod.REVERSED: 0.75,
    ExtractionMethod.ENTITIES: 0.75,
    ExtractionMethod.FORM: 0.65,
    ExtractionMethod.ATTRIBUTE: 0.6,
    ExtractionMethod.JSON: 0.55,
    ExtractionMethod.SCRIPT: 0.45,
}
"""Contacts meant to be used, such as links, score higher than incidental ones."""

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
    said: str = ""
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
    said: str = ""


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
