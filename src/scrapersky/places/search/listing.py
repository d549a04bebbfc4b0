"""Filters and sorting of searches and saved searches."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.lists import (
    BooleanFilter,
    ChoiceFilter,
    DateRangeFilter,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.lists.filters import FilterConditions, FilterParameters, FilterValues
from scrapersky.models import JOB_STATUSES, Actor, Job, JobType, Provider, SavedSearch


@dataclass(frozen=True)
class SearchJobsFilter:
    """Restricts the jobs to place searches, without a parameter."""

    def parameters(self) -> FilterParameters:
        return {}

    def conditions(self, given: FilterValues, actor: Actor) -> FilterConditions:
        yield Job.job_type == JobType.PLACE_SEARCH


SEARCHES = Listing(
    name="Search",
    model=Job,
    filters=(
        SearchJobsFilter(),
        ChoiceFilter("status", Job.status, words=JOB_STATUSES.all),
        ChoiceFilter(
            "provider",
            Job.params["provider"].astext,
            words=(Provider.GOOGLE.value, Provider.OSM.value, Provider.CSV.value),
        ),
        ChoiceFilter("created_by", Job.created_by),
        DateRangeFilter("created", Job.created_at),
        DateRangeFilter("finished", Job.finished_at),
        PresenceFilter("has_error", Job.error),
        TextFilter("search", (Job.subject,), says="Part of the business type or location."),
    ),
    sorts={
        "created_at": Job.created_at,
        "finished_at": Job.finished_at,
        "status": Job.status,
        "subject": Job.subject,
    },
)

SAVED_SEARCHES = Listing(
    name="SavedSearch",
    model=SavedSearch,
    filters=(
        BooleanFilter("is_active", SavedSearch.is_active),
        DateRangeFilter("next_run", SavedSearch.next_run_at),
        TextFilter("search", (SavedSearch.subject,), says="Part of the business type or location."),
    ),
    sorts={
        "created_at": SavedSearch.created_at,
        "next_run_at": SavedSearch.next_run_at,
        "subject": SavedSearch.subject,
    },
)
