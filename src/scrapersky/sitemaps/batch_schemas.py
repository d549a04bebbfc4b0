"""Batches as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from scrapersky.jobs.schemas import EXAMPLE_ID
from scrapersky.sitemaps.batch_progress import Member, Progress
from scrapersky.sitemaps.batches import Line, Requested
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Something else than a text is a bad line, and a bad line does not cost the good ones."""
STATUS_URL = "/api/v3/sitemap/batch/status/{}"


class BatchIn(BaseModel):
    """What to scan."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"domains": ["example.com", "example.org"], "max_pages": 100}]
        },
    )

    domains: list[AnyText] = Field(
        description="Domains or URLs, at most as many as the setting BATCH_MAX_DOMAINS says."
    )
    max_pages: Annotated[int, Field(strict=True, ge=1, le=MAX_PAGES_LIMIT)] | None = Field(
        default=None,
        description="URLs to store of each at most; the setting's default when left out.",
    )


class LineOut(BaseModel):
    """One line of the list: either a job, or what is wrong with it."""

    input: str = Field(examples=["https://www.example.com/"])
    domain: str | None = Field(default=None, examples=["example.com"])
    job_id: UUID | None = Field(default=None, examples=[EXAMPLE_ID])
    already_active: bool | None = Field(
        default=None, description="True when this scan had been asked for before."
    )
    error: str | None = None


class BatchOut(BaseModel):
    batch_id: UUID = Field(examples=[EXAMPLE_ID])
    status_url: str = Field(examples=[STATUS_URL.format(EXAMPLE_ID)])
    created_at: datetime
    accepted: int = Field(description="Domains that have a job now.")
    rejected: int = Field(description="Lines that name nothing that can be scanned.")
    duplicates: int = Field(description="Lines that repeat an earlier one, and are left out.")
    results: list[LineOut]


class MemberOut(BaseModel):
    domain: str = Field(examples=["example.com"])
    job_id: UUID | None = Field(examples=[EXAMPLE_ID])
    already_active: bool
    status: str = Field(
        examples=["complete"], description="Of the job; `deleted` when it is no longer kept."
    )
    progress: float = Field(ge=0, le=1)
    phase: str | None
    error: str | None
    sitemaps: int = Field(description="Found so far.")
    urls: int = Field(description="Found so far.")


class BatchStatus(BaseModel):
    batch_id: UUID = Field(examples=[EXAMPLE_ID])
    created_at: datetime
    max_pages: int
    finished: bool
    progress: float = Field(ge=0, le=1, description="Over all; a job that has ended counts as 1.")
    total: int
    rejected: int
    counts: dict[str, int] = Field(examples=[{"complete": 3, "pending": 1}])
    items: list[MemberOut]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page.")


def batch_out(requested: Requested) -> BatchOut:
    batch = requested.batch
    return BatchOut(
        batch_id=batch.id,
        status_url=STATUS_URL.format(batch.id),
        created_at=batch.created_at,
        accepted=batch.accepted,
        rejected=batch.rejected,
        duplicates=requested.duplicates,
        results=[_line_out(each) for each in requested.lines],
    )


def _line_out(line: Line) -> LineOut:
    if line.error is not None:
        return LineOut(input=line.text, error=line.error)
    return LineOut(
        input=line.text,
        domain=line.subject,
        job_id=line.job_id,
        already_active=line.already_active,
    )


def batch_status(progress: Progress, members: list[Member], *, limit: int) -> BatchStatus:
    shown = members[:limit]
    more = str(shown[-1].position) if len(members) > limit else None
    return BatchStatus(
        batch_id=progress.batch.id,
        created_at=progress.batch.created_at,
        max_pages=progress.batch.max_pages,
        finished=progress.finished,
        progress=progress.progress,
        total=sum(progress.counts.values()),
        rejected=progress.batch.rejected,
        counts=dict(progress.counts),
        items=[_member_out(each) for each in shown],
        next_cursor=more,
    )


def _member_out(member: Member) -> MemberOut:
    return MemberOut(**{name: getattr(member, name) for name in MemberOut.model_fields})
