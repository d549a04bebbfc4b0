"""Declarative lists: filters, sorting, cursors, totals, bulk operations, curation and exports."""

from scrapersky.lists.bulk import (
    BulkGroup,
    BulkOut,
    BulkRequest,
    ProcessingOptions,
    SpreadOptions,
    build_bulk_dependency,
)
from scrapersky.lists.curation import Curation, CurationQueue
from scrapersky.lists.export.definition import Export, export_field
from scrapersky.lists.filters import (
    ArrayFilter,
    BooleanFilter,
    ChoiceFilter,
    DateRangeFilter,
    DomainFilter,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_owner_condition,
)
from scrapersky.lists.listing import Listing, ListPage, ListQuery
from scrapersky.lists.routes import curation_routes, export_routes

__all__ = [
    "ArrayFilter",
    "BooleanFilter",
    "BulkGroup",
    "BulkOut",
    "BulkRequest",
    "ChoiceFilter",
    "Curation",
    "CurationQueue",
    "DateRangeFilter",
    "DomainFilter",
    "Export",
    "ListPage",
    "ListQuery",
    "Listing",
    "MinimumFilter",
    "PresenceFilter",
    "ProcessingOptions",
    "SpreadOptions",
    "TextFilter",
    "build_bulk_dependency",
    "build_owner_condition",
    "curation_routes",
    "export_field",
    "export_routes",
]
