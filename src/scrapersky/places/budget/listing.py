"""Cost ledger list and export: columns and filters."""

from __future__ import annotations

from scrapersky.lists import OPTIONAL, SHOWN, CellKind, Column, Export, Listing, TextFilter
from scrapersky.models import CostEntry, CostState, Provider

COST_ENTRIES = Listing(
    name="CostEntry",
    model=CostEntry,
    columns=(
        Column(CostEntry.asked_at, "Requested", "Time", filter=True, sort=True, table=SHOWN),
        Column(CostEntry.provider, filter=Provider, table=SHOWN, example="google"),
        Column(
            CostEntry.sku,
            "SKU",
            "Request type",
            filter=True,
            sort=True,
            table=SHOWN,
            example="place_details.enterprise",
        ),
        Column(CostEntry.usd, "USD", "Cost", table=SHOWN, cell=CellKind.NUMBER),
        Column(
            CostEntry.is_free,
            "Free",
            filter=True,
            says="Whether it was one of the month's free requests.",
        ),
        Column(CostEntry.state, filter=CostState, sort=True, table=SHOWN, example="billed"),
        Column(CostEntry.month),
        Column(CostEntry.search_id, "Search", filter=True),
        Column(CostEntry.place_id, "Place", filter=True),
        Column(CostEntry.note, filter=TextFilter()),
    ),
    more=(Column(CostEntry.id), Column(CostEntry.settled_at, "Settled", table=OPTIONAL)),
    default_sort="-asked_at",
)

EXPORT = Export(COST_ENTRIES, "cost-entries")
