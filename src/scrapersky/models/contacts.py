"""Contacts with their evidence, leads, suppressions and bulk actions."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, TimestampMixin, uuid7
from scrapersky.models.ownership import OwnedMixin, TenantMixin
from scrapersky.models.pages import PageCuration, PageDecision
from scrapersky.models.sitemaps import FileCuration, build_enum_check

LeadCuration = FileCuration
ContactCuration = PageCuration
ContactDecision = PageDecision


class ContactKind(StrEnum):
    EMAIL = "email"
    PHONE = "phone"
    SOCIAL = "social"


class EmailType(StrEnum):
    """Kind of an e-mail address: shared inbox, a person's at the site's own domain, or freemail."""

    SERVICE = "SERVICE"
    CORPORATE = "CORPORATE"
    FREE = "FREE"
    UNKNOWN = "UNKNOWN"


class EmptyReason(StrEnum):
    """Why a site has no contact."""

    NOT_READ_YET = "not_read_yet"
    NO_WEBSITE = "no_website"
    DOES_NOT_ANSWER = "does_not_answer"
    PARKED = "parked"
    REDIRECTED = "redirected"
    ONLY_SOCIAL = "only_social"
    BLOCKED = "blocked"
    ROBOTS = "robots"
    NEEDS_JAVASCRIPT = "needs_javascript"
    ONLY_A_FORM = "only_a_form"
    NOTHING_PUBLISHED = "nothing_published"


class Contact(Base, TimestampMixin, OwnedMixin):
    """One contact per domain, kind and value, no matter how often and where it was seen."""

    __tablename__ = "contacts"
    __table_args__ = (
        UniqueConstraint("domain_id", "kind", "value"),
        build_enum_check("kind", *(each.value for each in ContactKind)),
        build_enum_check("email_type", *(each.value for each in EmailType)),
        build_enum_check("contact_curation_status", *(each.value for each in ContactCuration)),
        Index("ix_contacts_created_at", "tenant_id", "created_at", "id"),
        Index("ix_contacts_value", "tenant_id", "value", "id"),
        Index("ix_contacts_page_id", "page_id"),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    page_id: Mapped[UUID | None] = mapped_column(ForeignKey("pages.id", ondelete="SET NULL"))
    """The page with the best evidence; null for a contact that a person added."""
    kind: Mapped[str]
    value: Mapped[str]
    """Normalized: e-mail in lower case with an IDNA domain, phone as E.164, profile as URL."""
    raw: Mapped[str | None]
    """As written on the page."""
    name: Mapped[str | None]
    role: Mapped[str | None]
    email_type: Mapped[str | None]
    is_role_address: Mapped[bool] = mapped_column(server_default="false")
    same_site: Mapped[bool] = mapped_column(server_default="false")
    """Whether an e-mail address is at the domain it was found on."""
    method: Mapped[str]
    """How the best evidence was found: mailto, json_ld, cloudflare, …; `manual` if a person added
    it.
    """
    snippet: Mapped[str | None]
    confidence: Mapped[float] = mapped_column(Float)
    sightings: Mapped[int] = mapped_column(Integer, server_default="1")
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    edited_at: Mapped[datetime | None]
    """When a person edited it. From then on, pages no longer change its name and role."""
    note: Mapped[str | None]
    contact_curation_status: Mapped[str] = mapped_column(server_default=ContactCuration.NEW)


class ContactEvidence(Base, TenantMixin):
    """One occurrence of a contact, and how it was found."""

    __tablename__ = "contact_evidence"
    __table_args__ = (
        UniqueConstraint("contact_id", "page_id", "method"),
        Index("ix_contact_evidence_page_id", "page_id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    contact_id: Mapped[UUID] = mapped_column(ForeignKey("contacts.id", ondelete="CASCADE"))
    page_id: Mapped[UUID] = mapped_column(ForeignKey("pages.id", ondelete="CASCADE"))
    method: Mapped[str]
    raw: Mapped[str | None]
    snippet: Mapped[str | None]
    confidence: Mapped[float] = mapped_column(Float)
    first_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Lead(Base, TimestampMixin, OwnedMixin):
    """Summary of one business, which people work with. Stages update it as they find more."""

    __tablename__ = "leads"
    __table_args__ = (
        UniqueConstraint("domain_id"),
        build_enum_check("lead_curation_status", *(each.value for each in LeadCuration)),
        build_enum_check("why_empty", *(each.value for each in EmptyReason)),
        Index("ix_leads_created_at", "tenant_id", "created_at", "id"),
        Index("ix_leads_stale", "id", postgresql_where=text("stale_since IS NOT NULL")),
        Index("ix_leads_waiting", "id", postgresql_where=text("why_empty = 'not_read_yet'")),
        Index("ix_leads_incomplete", "id", postgresql_where=text("completed_at IS NULL")),
        Index("ix_leads_local_business_id", "local_business_id"),
        # A business without its own site has a separate lead.
        Index(
            "ix_leads_without_domain",
            "local_business_id",
            unique=True,
            postgresql_where=text("domain_id IS NULL"),
        ),
        {"postgresql_with": {"fillfactor": 80}},
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    domain_id: Mapped[UUID | None] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    local_business_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("local_businesses.id", ondelete="CASCADE")
    )
    """If several businesses share the site, the one with the most reviews."""
    businesses: Mapped[int] = mapped_column(Integer, server_default="0")
    """Number of businesses that share the site, such as the branches of a chain."""
    name: Mapped[str | None]
    name_from: Mapped[str | None]
    """Source of the name: `json_ld`, `place`, `title`; null if there is no name."""
    category: Mapped[str | None]
    address: Mapped[str | None]
    phone: Mapped[str | None]
    phone_from: Mapped[str | None]
    """Source of the number: `site`, or the place's provider."""
    website: Mapped[str | None]
    best_email: Mapped[str | None]
    best_email_why: Mapped[str | None]
    other_emails: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    other_phones: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    profiles: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    contacts: Mapped[int] = mapped_column(Integer, server_default="0")
    rating: Mapped[float | None] = mapped_column(Float)
    reviews_count: Mapped[int | None] = mapped_column(Integer)
    why_empty: Mapped[str | None]
    """Null if a page has an e-mail, a phone or a profile. A lead with a reason may still hold
    provider data about the place.
    """
    why_empty_detail: Mapped[str | None]
    lead_curation_status: Mapped[str] = mapped_column(server_default=LeadCuration.NEW)
    completed_at: Mapped[datetime | None]
    """When nothing was left to read for the lead; null until then."""
    stale_since: Mapped[datetime | None]
    """When source data changed in a bulk operation too large to update its leads immediately. The
    lead is rebuilt later.
    """


class SuppressionKind(StrEnum):
    EMAIL = "email"
    DOMAIN = "domain"
    PHONE = "phone"


class Suppression(Base, OwnedMixin):
    """An address, number or domain that must not be contacted. Suppressed values are in no export.

    For an erased person only the digest is stored, so that the value is not collected again.
    """

    __tablename__ = "suppressions"
    __table_args__ = (
        UniqueConstraint("tenant_id", "kind", "digest"),
        build_enum_check("kind", *(each.value for each in SuppressionKind)),
        Index("ix_suppressions_created_at", "tenant_id", "created_at", "id"),
        Index(
            "ix_suppressions_erased",
            "tenant_id",
            "key_id",
            postgresql_where=text("value IS NULL"),
        ),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    kind: Mapped[str]
    value: Mapped[str | None]
    """Null once the person was erased."""
    digest: Mapped[bytes]
    """SHA-256(value); for an erased person HMAC-SHA-256(key, SHA-256(value))."""
    key_id: Mapped[str | None]
    """Fingerprint of the digest's key; null for a plain SHA-256."""
    reason: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class BulkAction(Base, OwnedMixin):
    """A decision about many rows, with the data needed to undo it."""

    __tablename__ = "bulk_actions"
    __table_args__ = (Index("ix_bulk_actions_created_at", "tenant_id", "created_by", "created_at"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    kind: Mapped[str]
    """Which list it applies to: `contact`."""
    to_status: Mapped[str]
    details: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """The filter and the note of the request."""
    updated_count: Mapped[int]
    queued_count: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    undone_at: Mapped[datetime | None]


class BulkActionRows(Base):
    """The rows of an action that shared the same state before it."""

    __tablename__ = "bulk_action_rows"

    action_id: Mapped[UUID] = mapped_column(
        ForeignKey("bulk_actions.id", ondelete="CASCADE"), primary_key=True
    )
    part: Mapped[int] = mapped_column(Integer, primary_key=True)
    before_status: Mapped[str]
    queue_before: Mapped[str | None]
    """Their previous stage status, if the action queued them."""
    row_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Base.type_annotation_map[UUID]))
