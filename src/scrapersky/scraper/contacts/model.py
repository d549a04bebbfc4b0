"""Contact values: kinds, extraction methods with their confidence, sightings and structured-data
statements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def strip_unstorable(text: str) -> str:
    """Without what no database takes as text: a page may hide it in an escape of its JSON."""
    return _UNSTORABLE.sub("", text)


class ContactChannel(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    SOCIAL = "social"


class ExtractionMethod(StrEnum):
    """How a page gave a contact away; the second half undoes what a page did to hide one."""

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
"""What was put there to be used, as a link is, is surer than what was only lying there."""

OWN_DOMAIN_BONUS = 0.04
"""An address on the page's own domain is almost certainly the owner's."""
PLACEHOLDER_DOMAIN_CONFIDENCE = 0.1
"""`info@example.com` may stand in a text, but nobody reads mail there."""
MAX_SNIPPET_CHARACTERS = 200


@dataclass(frozen=True)
class FoundContact:
    """One address, number or profile, with the sighting that proves it best."""

    kind: ContactChannel
    value: str
    """E-mail: lower case, domain as A-label. Phone: E.164. Profile: one spelling for each."""
    raw: str
    """As the page had it, before decoding."""
    method: ExtractionMethod
    snippet: str
    """What stood around it, for a person to judge."""
    confidence: float
    name: str | None = None
    """Whose it is, when the page says so in its structured data."""
    role: str | None = None
    is_role_address: bool = False
    """`info@`, `kontakt@`: a mailbox of the house, nobody's own."""
    same_site: bool | None = None
    """Whether an e-mail is on the page's own registrable domain; None for other kinds."""


@dataclass(frozen=True)
class ContactSighting:
    """A contact seen once, before it is compared with other sightings of the same."""

    kind: ContactChannel
    value: str
    raw: str
    method: ExtractionMethod
    place: int | None = None
    """Where in the page's markup."""
    span: tuple[int, int] | None = None
    """Where in the page's text."""
    said: str = ""
    """The surroundings, when they are neither."""
    name: str | None = None
    role: str | None = None

    def merge_person(self, other: ContactSighting) -> ContactSighting:
        """What the page said elsewhere about whose this is."""
        if (self.name or not other.name) and (self.role or not other.role):
            return self
        return replace(self, name=self.name or other.name, role=self.role or other.role)


@dataclass(frozen=True)
class ContactSearchResult:
    contacts: tuple[FoundContact, ...]
    capped: tuple[str, ...] = ()
    """Which limits the page met; what lay beyond them was not looked at."""


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
"""By the property's name in lower case, of schema.org, FOAF and vCard; faxes are not phones."""


def shorten(text: object, limit: int = 120) -> str | None:
    """A name or role as a person would read it; None when there is none."""
    if not isinstance(text, str):
        return None
    return " ".join(text.split())[:limit] or None
