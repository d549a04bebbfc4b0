"""The list of jobs: how it can be narrowed and sorted."""

from __future__ import annotations

from scrapersky.http.lists import Contains, Has, Listing, OfDomain, OneOf, When
from scrapersky.models import JOB_WORDS, Job, JobType

JOBS = Listing(
    name="Job",
    model=Job,
    filters=(
        OneOf("status", Job.status, words=JOB_WORDS.all),
        OneOf("job_type", Job.job_type, words=tuple(each.value for each in JobType)),
        OfDomain(Job.domain_id),
        OneOf("domain_id", Job.domain_id),
        OneOf("batch_id", Job.batch_id),
        OneOf("created_by", Job.created_by),
        When("created", Job.created_at),
        When("started", Job.started_at),
        When("finished", Job.finished_at),
        When("due", Job.due_at),
        Contains("error", (Job.error,)),
        Has("has_error", Job.error),
        Contains("search", (Job.subject, Job.error), says="In what it is about, or in its error."),
    ),
    sorts={
        "created_at": Job.created_at,
        "started_at": Job.started_at,
        "finished_at": Job.finished_at,
        "due_at": Job.due_at,
        "status": Job.status,
        "subject": Job.subject,
        "attempts": Job.attempts,
        "progress": Job.progress,
    },
)
