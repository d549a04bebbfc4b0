"""Cost ledger, budgets and quotas of paid provider requests."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Date,
    ForeignKey,
    Index,
    Integer,
    Numeric,
    SmallInteger,
    func,
)
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, uuid7
from scrapersky.models.ownership import TenantMixin
from scrapersky.models.sitemaps import build_enum_check

USD = Numeric(14, 6)


class CostState(StrEnum):
    ASKED = "asked"
    """Sent or about to be sent. It is not known whether it was billed, so it counts as billed."""
    BILLED = "billed"
    NOT_BILLED = "not_billed"
    """The provider refused or failed. Such requests are free, and the reservation is refunded."""


class CostEntry(Base, TenantMixin):
    """One request that a provider may bill."""

    __tablename__ = "cost_entries"
    __table_args__ = (
        build_enum_check("state", *(each.value for each in CostState)),
        Index("ix_cost_entries_asked_at", "tenant_id", "asked_at", "id"),
        Index("ix_cost_entries_search_id", "search_id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    provider: Mapped[str]
    sku: Mapped[str]
    """Billing unit, such as `text_search.enterprise`."""
    month: Mapped[date] = mapped_column(Date)
    """First day of the provider's billing month."""
    usd: Mapped[Decimal] = mapped_column(USD)
    """0 for a request within the free quota."""
    is_free: Mapped[bool]
    """Whether it was one of the month's free requests."""
    state: Mapped[str] = mapped_column(server_default=CostState.ASKED)
    search_id: Mapped[UUID | None] = mapped_column(ForeignKey("jobs.id", ondelete="SET NULL"))
    place_id: Mapped[UUID | None] = mapped_column(ForeignKey("places.id", ondelete="SET NULL"))
    asked_at: Mapped[datetime] = mapped_column(server_default=func.now())
    settled_at: Mapped[datetime | None]
    note: Mapped[str | None]


class CostMonth(Base, TenantMixin):
    """A tenant's spending in a month. A conditional update of this row enforces the cap."""

    __tablename__ = "cost_months"
    # For the installation's cap, which is checked against the sum of a month's rows.
    __table_args__ = (Index("ix_cost_months_month", "month"),)

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    month: Mapped[date] = mapped_column(Date, primary_key=True)
    spent_usd: Mapped[Decimal] = mapped_column(USD, server_default="0")
    requests: Mapped[int] = mapped_column(Integer, server_default="0")


class CostMeter(Base):
    """Requests per SKU and month over all tenants.

    The provider counts free requests and price tiers per billing account, not per tenant.
    """

    __tablename__ = "cost_meters"

    provider: Mapped[str] = mapped_column(primary_key=True)
    sku: Mapped[str] = mapped_column(primary_key=True)
    month: Mapped[date] = mapped_column(Date, primary_key=True)
    requests: Mapped[int] = mapped_column(BigInteger, server_default="0")


class ProviderDay(Base):
    """Requests per method and day of the provider, over all tenants."""

    __tablename__ = "provider_days"

    provider: Mapped[str] = mapped_column(primary_key=True)
    method: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    requests: Mapped[int] = mapped_column(Integer, server_default="0")


class ProviderPause(Base):
    """A provider method that must not be called until the given time.

    For example, because its daily quota is exhausted.
    """

    __tablename__ = "provider_pauses"

    provider: Mapped[str] = mapped_column(primary_key=True)
    method: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    reason: Mapped[str]


class Budget(Base, TenantMixin):
    """A tenant's monthly cap: what operators allow, and the tenant's own lower limit."""

    __tablename__ = "budgets"

    tenant_id: Mapped[UUID] = mapped_column(ForeignKey("tenants.id"), primary_key=True)
    monthly_cap_usd: Mapped[Decimal | None] = mapped_column(USD)
    """Set by operators; null means the installation's default."""
    own_limit_usd: Mapped[Decimal | None] = mapped_column(USD)
    """Set by the tenant's admins; it can only lower the cap, never raise it."""
    changed_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    changed_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


class InstallationBudget(Base):
    """The monthly cap over all tenants together; at most one row, set by operators."""

    __tablename__ = "installation_budget"
    __table_args__ = (CheckConstraint("id = 1", name="single_row"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    monthly_cap_usd: Mapped[Decimal | None] = mapped_column(USD)
    """Null means the setting PLACES_INSTALLATION_CAP_USD."""
    changed_by: Mapped[UUID] = mapped_column(ForeignKey("users.id"))
    changed_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())
