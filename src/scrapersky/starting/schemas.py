"""What is asked and answered where everything can be handed in."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.http.intake.answers import JobRowOut, QueueField
from scrapersky.starting.reading import MOST_ENTRIES, Kind
from scrapersky.starting.service import Started, counts_of
from scrapersky.starting.wording import sentence_of

MOST_CHARACTERS = MOST_ENTRIES * 2_500


class StartIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "example.com\nhttps://example.org/sitemap.xml\n"
                    "https://example.net/contact",
                    "queue": True,
                }
            ]
        },
    )

    text: Annotated[
        str,
        Field(
            max_length=MOST_CHARACTERS,
            description="Domains, addresses of sitemaps and addresses of pages, one per line or "
            f"divided by commas; up to {MOST_ENTRIES:,}.",
        ),
    ]
    queue: QueueField = True
    dry_run: Annotated[
        bool, Field(strict=True, description="Only tell what each would be taken for.")
    ] = False


class StartedOut(JobRowOut):
    """What one entry was taken for, and what became of it."""

    kind: Kind | None = Field(description="What it was taken for; null where it can be nothing.")
    says: str = Field(description="What became of it, in a sentence.")
    id: UUID | None = Field(
        description="Of the stored domain, sitemap file or page; null where there is none."
    )


class StartOut(BaseModel):
    accepted: int = Field(description="Entries that name something that is stored now.")
    created: int = Field(description="Of these: were not there before.")
    existing: int = Field(description="Of these: were there already.")
    duplicates: int = Field(description="Entries that repeat an earlier one.")
    invalid: int = Field(description="Entries that could not be taken.")
    queued: int = Field(description="The work on so many begins.")
    dry_run: bool = Field(description="Whether nothing was stored.")
    results: list[StartedOut]


def start_out(started: list[Started], *, dry_run: bool) -> StartOut:
    results = [_started_out(each, dry_run=dry_run) for each in started]
    return StartOut(**counts_of(started), dry_run=dry_run, results=results)


def _started_out(started: Started, *, dry_run: bool) -> StartedOut:
    row = started.row
    return StartedOut(
        line=row.line,
        input=row.input,
        status=row.status,
        id=row.id,
        queued=row.queued,
        error=row.error,
        job_id=row.job_id,
        already_active=row.already_active,
        kind=started.kind,
        says=sentence_of(started, dry_run=dry_run),
    )
