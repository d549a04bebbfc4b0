"""Filters, sorting and export columns of jobs."""

from __future__ import annotations

from scrapersky.lists import (
    ChoiceFilter,
    DateRangeFilter,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
    export_field,
)
from scrapersky.models import JOB_STATUSES, Domain, Job, JobType

JOBS = Listing(
    name="Job",
    model=Job,
    filters=(
        ChoiceFilter("status", Job.status, words=JOB_STATUSES.all),
        ChoiceFilter("job_type", Job.job_type, words=tuple(each.value for each in JobType)),
        DomainFilter(Job.domain_id),
        ChoiceFilter("domain_id", Job.domain_id),
        ChoiceFilter("batch_id", Job.batch_id),
        ChoiceFilter("created_by", Job.created_by),
        DateRangeFilter("created", Job.created_at),
        DateRangeFilter("started", Job.started_at),
        DateRangeFilter("finished", Job.finished_at),
        DateRangeFilter("due", Job.due_at),
        TextFilter("error", (Job.error,)),
        PresenceFilter("has_error", Job.error),
        TextFilter(
            "search",
            (Job.subject, Job.error),
            says="Text to search for in the subject or the error.",
        ),
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


EXPORT = Export(
    listing=JOBS,
    rows="jobs",
    usual=(
        export_field("job_id", Job.id, "Job"),
        export_field("job_type", Job.job_type, "Kind"),
        export_field("subject", Job.subject),
        export_field("status", Job.status),
        export_field("progress", Job.progress),
        export_field("phase", Job.phase),
        export_field("error", Job.error),
        export_field("attempts", Job.attempts),
        export_field("created_at", Job.created_at, "Asked for"),
        export_field("started_at", Job.started_at, "Started"),
        export_field("finished_at", Job.finished_at, "Finished"),
    ),
    more=(
        export_field("domain", Domain.domain),
        export_field("domain_id", Job.domain_id),
        export_field("batch_id", Job.batch_id, "Batch"),
        export_field("priority", Job.priority),
        export_field("due_at", Job.due_at, "Due"),
        export_field("worker_id", Job.worker_id, "Worker"),
        export_field("created_by", Job.created_by, "Asked by"),
        export_field("updated_at", Job.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Job.domain_id),),
)
