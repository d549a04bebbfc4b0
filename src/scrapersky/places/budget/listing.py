"""Filters, sorting and export columns of the cost ledger."""

from __future__ import annotations

from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    DateRangeFilter,
    Export,
    Listing,
    TextFilter,
    export_field,
)
from scrapersky.models import CostEntry, CostState, Provider

COST_ENTRIES = Listing(
    name="CostEntry",
    model=CostEntry,
    filters=(
        ChoiceFilter("provider", CostEntry.provider, words=tuple(each.value for each in Provider)),
        ChoiceFilter("sku", CostEntry.sku),
        ChoiceFilter("state", CostEntry.state, words=tuple(each.value for each in CostState)),
        BooleanFilter("is_free", CostEntry.is_free),
        ChoiceFilter("search_id", CostEntry.search_id),
        ChoiceFilter("place_id", CostEntry.place_id),
        DateRangeFilter("asked", CostEntry.asked_at),
        TextFilter("note", (CostEntry.note,)),
    ),
    sorts={"asked_at": CostEntry.asked_at, "sku": CostEntry.sku, "state": CostEntry.state},
    default_sort="-asked_at",
)

EXPORT = Export(
    listing=COST_ENTRIES,
    rows="cost-entries",
    usual=(
        export_field("asked_at", CostEntry.asked_at, "Requested"),
        export_field("provider", CostEntry.provider),
        export_field("sku", CostEntry.sku, "SKU"),
        export_field("usd", CostEntry.usd, "USD"),
        export_field("is_free", CostEntry.is_free, "Free"),
        export_field("state", CostEntry.state),
        export_field("month", CostEntry.month),
        export_field("search_id", CostEntry.search_id, "Search"),
        export_field("place_id", CostEntry.place_id, "Place"),
        export_field("note", CostEntry.note),
    ),
    more=(
        export_field("id", CostEntry.id),
        export_field("settled_at", CostEntry.settled_at, "Settled"),
    ),
)
