"""Classify an e-mail address as a role, corporate or free-mail address."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib.resources import files

FREE_MAIL_FILE = "free_mail_providers.txt"
COMMENT_PREFIX = "#"


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
    lines = files(__package__).joinpath(FREE_MAIL_FILE).read_text("utf-8").splitlines()
    return frozenset(
        name for line in lines if not line.startswith(COMMENT_PREFIX) for name in line.split()
    )
