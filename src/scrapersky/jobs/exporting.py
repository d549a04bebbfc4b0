"""Jobs as a file: one line per job."""

from __future__ import annotations

from scrapersky.http.lists import Export, field
from scrapersky.jobs.listing import JOBS
from scrapersky.models import Domain, Job

EXPORT = Export(
    listing=JOBS,
    rows="jobs",
    usual=(
        field("job_id", Job.id, "Job"),
        field("job_type", Job.job_type, "Kind"),
        field("subject", Job.subject),
        field("status", Job.status),
        field("progress", Job.progress),
        field("phase", Job.phase),
        field("error", Job.error),
        field("attempts", Job.attempts),
        field("created_at", Job.created_at, "Asked for"),
        field("started_at", Job.started_at, "Started"),
        field("finished_at", Job.finished_at, "Finished"),
    ),
    more=(
        field("domain", Domain.domain),
        field("domain_id", Job.domain_id),
        field("batch_id", Job.batch_id, "Batch"),
        field("priority", Job.priority),
        field("due_at", Job.due_at, "Due"),
        field("worker_id", Job.worker_id, "Worker"),
        field("created_by", Job.created_by, "Asked by"),
        field("updated_at", Job.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == Job.domain_id),),
)
