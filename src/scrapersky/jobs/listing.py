"""Job list and export: columns and filters."""

from __future__ import annotations

from scrapersky.lists import (
    OPTIONAL,
    SHOWN,
    CellKind,
    ChoiceFilter,
    Column,
    DomainFilter,
    Export,
    Listing,
    PresenceFilter,
    TextFilter,
)
from scrapersky.models import JOB_STATUSES, Domain, Job, JobType

EXAMPLE_ID = "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e"

JOBS = Listing(
    name="Job",
    model=Job,
    columns=(
        Column(Job.id, "Job", name="job_id", example=EXAMPLE_ID),
        Column(
            Job.job_type,
            "Kind",
            "Type",
            filter=JobType,
            table=SHOWN,
            cell=CellKind.WORD,
            cli=True,
            example="sitemap",
        ),
        Column(Job.subject, sort=True, api=False, cli=True),
        Column(
            Job.status,
            filter=ChoiceFilter(words=JOB_STATUSES.all),
            sort=True,
            table=SHOWN,
            cell=CellKind.STATUS,
            cli=True,
            example="complete",
        ),
        Column(Job.progress, sort=True),
        Column(Job.phase, example="done"),
        Column(Job.error, filter=(TextFilter(), PresenceFilter("has_error")), cli=True),
        Column(Job.attempts, sort=True, table=SHOWN, cli=True),
        Column(
            Job.created_at, "Requested", "Created", filter=True, sort=True, table=SHOWN, cli=True
        ),
        Column(Job.started_at, "Started", filter=True, sort=True, table=OPTIONAL),
        Column(Job.finished_at, "Finished", filter=True, sort=True, table=SHOWN),
    ),
    more=(
        Column(Domain.domain, api=False),
        Column(Job.domain_id, filter=(DomainFilter(), True)),
        Column(Job.batch_id, "Batch", filter=True, api=False),
        Column(Job.priority, api=False),
        Column(Job.due_at, "Due", filter=True, sort=True, api=False, table=OPTIONAL),
        Column(Job.worker_id, "Worker", says="Worker that runs the job."),
        Column(Job.created_by, "Asked by", filter=True),
        Column(Job.updated_at, "Changed", api=False),
    ),
    filters=(
        TextFilter(
            "search",
            columns=(Job.subject, Job.error),
            says="Text to search for in the subject or the error.",
        ),
    ),
)

EXPORT = Export(JOBS, "jobs", beside=((Domain, Domain.id == Job.domain_id),))
