"""The list of bulk actions: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import Has, Listing, OneOf, When
from scrapersky.models import BulkAction

BULK_ACTIONS = Listing(
    name="BulkAction",
    model=BulkAction,
    filters=(
        OneOf("kind", BulkAction.kind, says="Only about rows of this kind, such as `contact`."),
        OneOf("to_status", BulkAction.to_status),
        OneOf("created_by", BulkAction.created_by),
        When("created", BulkAction.created_at),
        Has("has_undone_at", BulkAction.undone_at),
    ),
    sorts={
        "created_at": BulkAction.created_at,
        "updated_count": BulkAction.updated_count,
        "undone_at": BulkAction.undone_at,
    },
)
