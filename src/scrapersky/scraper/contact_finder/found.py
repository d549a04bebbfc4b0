"""What a contact is, how it may have been found, and how sure that makes us."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Without what no database takes as text: a page may hide it in an escape of its JSON."""
    return _UNSTORABLE.sub("", text)


class Kind(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    SOCIAL = "social"


class Method(StrEnum):
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


CONFIDENCE: dict[Method, float] = {
    Method.MAILTO: 0.95,
    Method.TEL: 0.95,
    Method.JSON_LD: 0.95,
    Method.SAME_AS: 0.95,
    Method.MICRODATA: 0.93,
    Method.RDFA: 0.92,
    Method.HCARD: 0.92,
    Method.VCARD: 0.92,
    Method.CLOUDFLARE: 0.95,
    Method.TYPO3: 0.95,
    Method.JOOMLA: 0.94,
    Method.SPAMSPAN: 0.93,
    Method.WORDPRESS_ENCODER: 0.92,
    Method.CRYPTX: 0.92,
    Method.ENKODER: 0.9,
    Method.LINK: 0.9,
    Method.SPLIT_ATTRIBUTES: 0.88,
    Method.TEXT: 0.85,
    Method.NOSCRIPT: 0.82,
    Method.ONCLICK: 0.8,
    Method.META: 0.8,
    Method.BASE64: 0.8,
    Method.ROT13: 0.8,
    Method.JAVASCRIPT: 0.78,
    Method.AT_DOT: 0.75,
    Method.REVERSED: 0.75,
    Method.ENTITIES: 0.75,
    Method.FORM: 0.65,
    Method.ATTRIBUTE: 0.6,
    Method.JSON: 0.55,
    Method.SCRIPT: 0.45,
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

    kind: Kind
    value: str
    """E-mail: lower case, domain as A-label. Phone: E.164. Profile: one spelling for each."""
    raw: str
    """As the page had it, before decoding."""
    method: Method
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
class Sighting:
    """A contact seen once, before it is compared with other sightings of the same."""

    kind: Kind
    value: str
    raw: str
    method: Method
    place: int | None = None
    """Where in the page's markup."""
    span: tuple[int, int] | None = None
    """Where in the page's text."""
    said: str = ""
    """The surroundings, when they are neither."""
    name: str | None = None
    role: str | None = None

    def with_name_of(self, other: Sighting) -> Sighting:
        """What the page said elsewhere about whose this is."""
        if (self.name or not other.name) and (self.role or not other.role):
            return self
        return replace(self, name=self.name or other.name, role=self.role or other.role)


@dataclass(frozen=True)
class ContactsFound:
    contacts: tuple[FoundContact, ...]
    capped: tuple[str, ...] = ()
    """Which limits the page met; what lay beyond them was not looked at."""
