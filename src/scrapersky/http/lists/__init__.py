"""Lists that are declared: filters, sorts, cursors, totals and bulk acts by one mechanism."""

from scrapersky.http.lists.bulk import BulkAsked, BulkOut, Group, Spread, Working, bulk_asked
from scrapersky.http.lists.filters import Contains, Has, OfDomain, OneOf, When
from scrapersky.http.lists.listing import Asked, Listed, Listing
from scrapersky.http.lists.ownership import owned_by

__all__ = [
    "Asked",
    "BulkAsked",
    "BulkOut",
    "Contains",
    "Group",
    "Has",
    "Listed",
    "Listing",
    "OfDomain",
    "OneOf",
    "Spread",
    "When",
    "Working",
    "bulk_asked",
    "owned_by",
]
