"""Lists of searches and saved searches: columns and filters."""

from __future__ import annotations

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    FixedFilter,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.models import JOB_STATUSES, Job, JobType, Provider, SavedSearch

SEARCHES = Listing(
    name="Search",
    model=Job,
    columns=(
        Column(Job.subject, label="Search", sort=True, table=SHOWN),
        Column(
            Job.params["provider"].astext,
            name="provider",
            filter=ChoiceFilter(
                words=(Provider.GOOGLE.value, Provider.OSM.value, Provider.CSV.value)
            ),
            table=SHOWN,
        ),
        Column(
            Job.status,
            label="State",
            filter=ChoiceFilter(words=JOB_STATUSES.all),
            sort=True,
            table=SHOWN,
            cell=CellKind.STATUS,
        ),
        Column(Job.error, filter=PresenceFilter("has_error")),
        Column(Job.created_by, filter=True),
        Column(Job.created_at, "Created", filter=True, sort=True, table=SHOWN),
        Column(Job.finished_at, "Finished", filter=True, sort=True, table=SHOWN),
        Column(Job.phase, table=OPTIONAL),
        Column(Job.started_at, "Started", table=OPTIONAL),
    ),
    filters=(
        FixedFilter(Job.job_type == JobType.PLACE_SEARCH),
        TextFilter("search", Job.subject, says="Part of the business type or location."),
    ),
)

SAVED_SEARCHES = Listing(
    name="SavedSearch",
    model=SavedSearch,
    columns=(
        Column(SavedSearch.created_at, sort=True),
        Column(SavedSearch.subject, sort=True),
        Column(SavedSearch.is_active, filter=True),
        Column(SavedSearch.next_run_at, filter=True, sort=True),
    ),
    filters=(
        TextFilter("search", SavedSearch.subject, says="Part of the business type or location."),
    ),
)
