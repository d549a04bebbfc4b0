"""Declarative lists: columns, filters, sorting, cursors, totals, bulk operations and curation."""

from scrapersky.lists.bulk import (
    BulkGroup,
    BulkOut,
    BulkRequest,
    ProcessingOptions,
    SpreadOptions,
    build_bulk_dependency,
)
from scrapersky.lists.columns import (
    OPTIONAL,
    SHOWN,
    CellKind,
    Column,
    RowSchema,
    build_curation_column,
)
from scrapersky.lists.curation import Curation, CurationQueue
from scrapersky.lists.exports import Export
from scrapersky.lists.filters import (
    ArrayFilter,
    BooleanFilter,
    ChoiceFilter,
    ConditionFilter,
    DateRangeFilter,
    DomainFilter,
    FixedFilter,
    MinimumFilter,
    PresenceFilter,
    TextFilter,
    build_owner_condition,
)
from scrapersky.lists.listing import Listing, ListPage, ListQuery
from scrapersky.lists.routes import curation_routes, export_routes

__all__ = [
    "OPTIONAL",
    "SHOWN",
    "ArrayFilter",
    "BooleanFilter",
    "BulkGroup",
    "BulkOut",
    "BulkRequest",
    "CellKind",
    "ChoiceFilter",
    "Column",
    "ConditionFilter",
    "Curation",
    "CurationQueue",
    "DateRangeFilter",
    "DomainFilter",
    "Export",
    "FixedFilter",
    "ListPage",
    "ListQuery",
    "Listing",
    "MinimumFilter",
    "PresenceFilter",
    "ProcessingOptions",
    "RowSchema",
    "SpreadOptions",
    "TextFilter",
    "build_bulk_dependency",
    "build_curation_column",
    "build_owner_condition",
    "curation_routes",
    "export_routes",
]
