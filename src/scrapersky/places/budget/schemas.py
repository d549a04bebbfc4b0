"""API schemas of the budget and the cost ledger."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from scrapersky.lists import RowSchema
from scrapersky.places.budget.listing import COST_ENTRIES

Usd = Annotated[
    Decimal, PlainSerializer(float, return_type=float, when_used="json"), Field(examples=[12.5])
]
"""A decimal internally, a plain number in JSON."""


class SkuUsed(BaseModel):
    """Usage of one SKU this month, over all tenants, as the provider counts it."""

    provider: str = Field(examples=["google"])
    sku: str = Field(examples=["text_search.enterprise"])
    used: int
    free: int | None = Field(description="Free requests per month. Null if unlimited.")
    left: int | None = Field(description="Free requests left. Null if unlimited.")
    next_usd: Usd = Field(description="Price of the next request.")


class MethodToday(BaseModel):
    """Usage of one method on the provider's current day, over all tenants."""

    provider: str = Field(examples=["google"])
    method: str = Field(examples=["SearchText"])
    used: int
    quota: int
    left: int
    paused_until: datetime | None = Field(description="End of the pause.")
    paused_because: str | None


class BudgetOut(BaseModel):
    month: date = Field(description="First day of the provider's month (Pacific time).")
    month_ends_at: datetime
    monthly_cap_usd: Usd
    cap_is_own: bool = Field(
        description="True if operators set a cap for this tenant, false if the default applies."
    )
    allowed_usd: Usd = Field(
        description="Monthly amount allowed by operators, and the maximum for `cap_usd`."
    )
    own_limit_usd: Usd | None = Field(
        description="The tenant's own limit, set by its admins. Null if none."
    )
    spent_usd: Usd = Field(
        description="Billed requests, and requests whose billing is not confirmed yet."
    )
    left_usd: Usd = Field(description="What can still be spent, including the installation's cap.")
    limited_by_installation: bool = Field(
        description="Whether the installation's cap leaves less than the tenant's."
    )
    requests: int = Field(description="Ledger entries of this month.")
    waiting: int = Field(description="Searches and places blocked on the budget.")
    free_tier: list[SkuUsed]
    today: list[MethodToday]
    prices_as_of: date


CapUsd = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]


class BudgetIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"monthly_cap_usd": 50}]}
    )

    monthly_cap_usd: CapUsd = Field(description="0 allows free requests only.")


class OperatorCapIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"monthly_cap_usd": 500}]}
    )

    monthly_cap_usd: CapUsd | None = Field(
        description="0 allows free requests only. Null resets it to the setting."
    )


class TenantBudgetOut(BaseModel):
    """One tenant's share of the installation budget."""

    tenant_id: UUID
    name: str = Field(examples=["acme"])
    allowed_usd: Usd = Field(description="Monthly amount allowed by operators.")
    allowed_is_default: bool
    own_limit_usd: Usd | None = Field(description="The tenant's own lower limit.")
    spent_usd: Usd
    requests: int


class InstallationBudgetOut(BaseModel):
    month: date = Field(description="First day of the provider's month (Pacific time).")
    month_ends_at: datetime
    monthly_cap_usd: Usd | None = Field(
        description="What all tenants may spend together. Null if only their own caps apply."
    )
    cap_is_default: bool = Field(
        description="True if it comes from the setting PLACES_INSTALLATION_CAP_USD."
    )
    spent_usd: Usd
    left_usd: Usd | None
    requests: int
    waiting: int = Field(
        description="Searches and places of all tenants that are blocked on the budget."
    )
    tenants: list[TenantBudgetOut]


class CostEntryOut(RowSchema, columns=COST_ENTRIES.all_columns):
    usd: Usd
