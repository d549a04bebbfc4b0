"""The ledger as a list and as a file."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Export, Is, Listing, OneOf, When, field
from scrapersky.models import CostEntry, CostState, Provider

ENTRIES = Listing(
    name="CostEntry",
    model=CostEntry,
    filters=(
        OneOf("provider", CostEntry.provider, words=tuple(each.value for each in Provider)),
        OneOf("sku", CostEntry.sku),
        OneOf("state", CostEntry.state, words=tuple(each.value for each in CostState)),
        Is("is_free", CostEntry.is_free),
        OneOf("search_id", CostEntry.search_id),
        OneOf("place_id", CostEntry.place_id),
        When("asked", CostEntry.asked_at),
        Contains("note", (CostEntry.note,)),
    ),
    sorts={"asked_at": CostEntry.asked_at, "sku": CostEntry.sku, "state": CostEntry.state},
    default_sort="-asked_at",
)

EXPORT = Export(
    listing=ENTRIES,
    rows="cost-entries",
    usual=(
        field("asked_at", CostEntry.asked_at, "Asked"),
        field("provider", CostEntry.provider),
        field("sku", CostEntry.sku, "SKU"),
        field("usd", CostEntry.usd, "USD"),
        field("is_free", CostEntry.is_free, "Free"),
        field("state", CostEntry.state),
        field("month", CostEntry.month),
        field("search_id", CostEntry.search_id, "For search"),
        field("place_id", CostEntry.place_id, "For place"),
        field("note", CostEntry.note),
    ),
    more=(
        field("id", CostEntry.id),
        field("settled_at", CostEntry.settled_at, "Settled"),
    ),
)
