"""Lists that are declared: filters, sorts, cursors, totals, bulk acts, exports by one mechanism."""

from scrapersky.http.lists.bulk import BulkAsked, BulkOut, Group, Spread, Working, bulk_asked
from scrapersky.http.lists.curate_routes import curation_routes
from scrapersky.http.lists.curating import Curation, Queues
from scrapersky.http.lists.export_routes import export_routes
from scrapersky.http.lists.exporting import Export, field
from scrapersky.http.lists.filters import Among, AtLeast, Contains, Has, Is, OfDomain, OneOf, When
from scrapersky.http.lists.listing import Asked, Listed, Listing
from scrapersky.http.lists.ownership import owned_by

__all__ = [
    "Among",
    "Asked",
    "AtLeast",
    "BulkAsked",
    "BulkOut",
    "Contains",
    "Curation",
    "Export",
    "Group",
    "Has",
    "Is",
    "Listed",
    "Listing",
    "OfDomain",
    "OneOf",
    "Queues",
    "Spread",
    "When",
    "Working",
    "bulk_asked",
    "curation_routes",
    "export_routes",
    "field",
    "owned_by",
]
