"""SQL conditions that decide whether an address, number or domain is suppressed."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, case, exists, func, or_, select

from scrapersky.models import Contact, ContactKind, Domain, Suppression, SuppressionKind


def compute_digest(value: str) -> bytes:
    return sha256(value.encode()).digest()


def is_suppressed(contact: Any = Contact) -> ColumnElement[bool]:
    """Build a condition for suppressed contacts.

    A contact is suppressed by its own value, by its e-mail domain or a parent of it, or by the site
    it was found on.
    """
    site = select(Domain.domain).where(Domain.id == contact.domain_id)
    return or_(*build_suppression_conditions(contact, site.correlate(contact).scalar_subquery()))


def build_suppression_conditions(contact: Any, site: Any) -> list[ColumnElement[bool]]:
    """Return the conditions separately.

    To filter many contacts, require that none of them holds. In a list of conditions the planner
    turns each into one hashed lookup; within an OR it evaluates them row by row.
    """
    is_email = contact.kind == ContactKind.EMAIL
    host = case((is_email, func.split_part(contact.value, "@", 2)))
    return [
        is_value_suppressed(contact.tenant_id, contact.kind, contact.value),
        _is_under_suppressed_domain(contact, host),
        _is_under_suppressed_domain(contact, func.split_part(site, ":", 1)),
    ]


def is_value_suppressed(tenant_id: Any, kind: Any, value: Any) -> ColumnElement[bool]:
    """Build a condition on the value's digest, which is indexed.

    It does not match erased values: the database does not have their key. They are removed before
    anything is stored (`erasure_filter.py`).
    """
    named = exists().where(
        Suppression.tenant_id == tenant_id,
        Suppression.kind == kind,
        Suppression.digest == func.sha256(func.convert_to(value, "UTF8")),
    )
    return named.correlate_except(Suppression)


def _is_under_suppressed_domain(contact: Any, host: ColumnElement[Any]) -> ColumnElement[bool]:
    """Build a condition for hosts that are a suppressed domain or a subdomain of one.

    Both then share their last two labels, which allows an index lookup.
    """
    return exists().where(
        Suppression.tenant_id == contact.tenant_id,
        Suppression.kind == SuppressionKind.DOMAIN,
        _get_last_labels(Suppression.value) == _get_last_labels(host),
        or_(host == Suppression.value, host.endswith("." + Suppression.value)),
    )


def _get_last_labels(host: Any) -> ColumnElement[str]:
    return func.concat(func.split_part(host, ".", -2), ".", func.split_part(host, ".", -1))
