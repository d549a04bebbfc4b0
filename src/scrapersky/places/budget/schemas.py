"""Budget and cost ledger in the API."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

Usd = Annotated[
    Decimal, PlainSerializer(float, return_type=float, when_used="json"), Field(examples=[12.5])
]
"""Exact inside; a plain number where it leaves."""


class SkuUsed(BaseModel):
    """A kind of request in this month, by all tenants: that is what a provider counts by."""

    provider: str = Field(examples=["google"])
    sku: str = Field(examples=["text_search.enterprise"])
    used: int
    free: int | None = Field(description="In a month; null where there is no end to them.")
    left: int | None = Field(description="Of the free ones; null where there is no end to them.")
    next_usd: Usd = Field(description="What the next request costs.")


class MethodToday(BaseModel):
    """A provider's method in its present day, by all tenants."""

    provider: str = Field(examples=["google"])
    method: str = Field(examples=["SearchText"])
    used: int
    quota: int
    left: int
    paused_until: datetime | None = Field(description="Left alone until then.")
    paused_because: str | None


class BudgetOut(BaseModel):
    month: date = Field(description="The first day of the provider's month, which is Pacific time.")
    month_ends_at: datetime
    monthly_cap_usd: Usd
    cap_is_own: bool = Field(
        description="Whether operators set a cap for this tenant; false where the default counts."
    )
    allowed_usd: Usd = Field(
        description="What operators allow in a month, the most that can be set here."
    )
    own_limit_usd: Usd | None = Field(
        description="The tenant's own limit, set by its admins; null where there is none."
    )
    spent_usd: Usd = Field(
        description="Billed, or asked for and not known to be: that counts as billed."
    )
    left_usd: Usd = Field(
        description="What can still be spent, also under the installation's cap over all tenants."
    )
    limited_by_installation: bool = Field(
        description="Whether the installation's cap leaves less than the tenant's own cap does."
    )
    requests: int = Field(description="That stand in the ledger for this month.")
    waiting: int = Field(description="Searches and places that wait for money.")
    free_tier: list[SkuUsed]
    today: list[MethodToday]
    prices_as_of: date


CapUsd = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]


class BudgetIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"monthly_cap_usd": 50}]}
    )

    monthly_cap_usd: CapUsd = Field(description="0 means that only what is free is asked.")


class OperatorCapIn(BaseModel):
    """A cap as operators set it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"monthly_cap_usd": 500}]}
    )

    monthly_cap_usd: CapUsd | None = Field(
        description="0 means that only what is free is asked; null, that the setting counts."
    )


class TenantBudgetOut(BaseModel):
    """A tenant's part of the installation's month."""

    tenant_id: UUID
    name: str = Field(examples=["acme"])
    allowed_usd: Usd = Field(description="What operators allow it in a month.")
    allowed_is_default: bool
    own_limit_usd: Usd | None = Field(description="Its own lower limit.")
    spent_usd: Usd
    requests: int


class InstallationBudgetOut(BaseModel):
    month: date = Field(description="The first day of the provider's month, which is Pacific time.")
    month_ends_at: datetime
    monthly_cap_usd: Usd | None = Field(
        description="What all tenants together may spend; null means that only their caps count."
    )
    cap_is_default: bool = Field(
        description="Whether it is the setting PLACES_INSTALLATION_CAP_USD."
    )
    spent_usd: Usd
    left_usd: Usd | None
    requests: int
    waiting: int = Field(description="Searches and places of all tenants that wait for money.")
    tenants: list[TenantBudgetOut]


class CostEntryOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    provider: str = Field(examples=["google"])
    sku: str = Field(examples=["place_details.enterprise"])
    month: date
    usd: Usd
    is_free: bool = Field(description="Whether it was one of the month's free requests.")
    state: str = Field(examples=["billed"])
    search_id: UUID | None
    place_id: UUID | None
    asked_at: datetime
    settled_at: datetime | None
    note: str | None
