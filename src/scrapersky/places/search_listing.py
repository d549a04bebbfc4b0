"""The lists of searches: how they can be narrowed and sorted."""

from __future__ import annotations

from dataclasses import dataclass

from scrapersky.http.lists import Contains, Has, Is, Listing, OneOf, When
from scrapersky.http.lists.filters import Conditions, Given, Parameters
from scrapersky.models import JOB_WORDS, Actor, Job, JobType, Provider, SavedSearch


@dataclass(frozen=True)
class OnlySearches:
    """Of all jobs; nobody need say so."""

    def parameters(self) -> Parameters:
        return {}

    def conditions(self, given: Given, actor: Actor) -> Conditions:
        yield Job.job_type == JobType.PLACE_SEARCH


SEARCHES = Listing(
    name="Search",
    model=Job,
    filters=(
        OnlySearches(),
        OneOf("status", Job.status, words=JOB_WORDS.all),
        OneOf(
            "provider",
            Job.params["provider"].astext,
            words=(Provider.GOOGLE.value, Provider.OSM.value, Provider.CSV.value),
        ),
        OneOf("created_by", Job.created_by),
        When("created", Job.created_at),
        When("finished", Job.finished_at),
        Has("has_error", Job.error),
        Contains("search", (Job.subject,), says="In what is looked for and where."),
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
        Is("is_active", SavedSearch.is_active),
        When("next_run", SavedSearch.next_run_at),
        Contains("search", (SavedSearch.subject,), says="In what is looked for and where."),
    ),
    sorts={
        "created_at": SavedSearch.created_at,
        "next_run_at": SavedSearch.next_run_at,
        "subject": SavedSearch.subject,
    },
)
