"""Jobs: what was asked for, and how far it has come."""

from __future__ import annotations

from markupsafe import Markup

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.jobs.exporting import EXPORT
from scrapersky.jobs.listing import JOBS as LISTING
from scrapersky.models import JOB_WORDS

RETRY = "/jobs/retry"
_status = cells.stage("status", "error", failed=JOB_WORDS.failed, retry=RETRY)


def _progress(row: Row, _: bool) -> Markup:
    share = round(row.progress * 100)
    bar = Markup('<progress max="100" value="{}" aria-label="Progress">{} %</progress> {} %')
    return bar.format(share, share, share) + cells.below(row.phase)


JOBS = Table(
    kind="jobs",
    title="Jobs",
    noun="job",
    says="What was asked for, by people and by the schedule, and how far each has come.",
    listing=LISTING,
    export=EXPORT,
    segments="status",
    acts=(
        Act("Retry", RETRY, "queued again", key="r"),
        Act("Cancel", "/jobs/cancel", "cancelled", key="c", danger=True),
    ),
    labels={
        "job_type": "Kind",
        "domain": "Site",
        "created": "Asked for",
        "started": "Started",
        "finished": "Finished",
        "due": "Due",
        "has_error": "Has an error",
    },
    columns=(
        Column("subject", "Job", cells.opens("jobs", cells.value("subject")), sort="subject"),
        Column("job_type", "Kind", cells.word("job_type")),
        Column("status", "Status", _status, sort="status"),
        Column("progress", "Progress", _progress, sort="progress"),
        Column("attempts", "Attempts", cells.number("attempts"), sort="attempts", number=True),
        Column("created_at", "Asked for", cells.moment("created_at"), sort="created_at"),
        Column("finished_at", "Finished", cells.moment("finished_at"), sort="finished_at"),
        Column("started_at", "Started", cells.moment("started_at"), "started_at", usual=False),
        Column("due_at", "Due", cells.moment("due_at"), "due_at", usual=False),
    ),
    nothing=Nothing(
        "A job is made for every site or sitemap that is to be scanned. Hand in a list, and they "
        "stand here.",
        "/import?kind=domains",
        "Hand in domains",
    ),
)
