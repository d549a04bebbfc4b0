"""Whose an e-mail address is, by the address alone: a desk's, a person's, a freemailer's."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib.resources import files

PROVIDERS = "free_mail_providers.txt"
COMMENT = "#"


class EmailType(StrEnum):
    SERVICE = "SERVICE"
    """A desk: `info@`, `office@`."""
    CORPORATE = "CORPORATE"
    """A person at the site's own domain."""
    FREE = "FREE"
    """A mailbox where anybody can have one, whoever reads it."""
    UNKNOWN = "UNKNOWN"


def email_type(value: str, *, is_role_address: bool, same_site: bool) -> EmailType:
    """Of an address in its one spelling: lower case, its domain in A-labels."""
    if is_free_mail(value.rpartition("@")[2]):
        return EmailType.FREE
    if is_role_address:
        return EmailType.SERVICE
    return EmailType.CORPORATE if same_site else EmailType.UNKNOWN


def is_free_mail(domain: str) -> bool:
    """Whether it, or a domain above it, gives mailboxes to everybody."""
    labels = domain.split(".")
    return any(".".join(labels[place:]) in _providers() for place in range(len(labels) - 1))


@cache
def _providers() -> frozenset[str]:
    lines = files(__package__).joinpath(PROVIDERS).read_text("utf-8").splitlines()
    return frozenset(
        name for line in lines if not line.startswith(COMMENT) for name in line.split()
    )
