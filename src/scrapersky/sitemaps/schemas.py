"""API schemas of scans, batches, sitemap files and URLs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from scrapersky.jobs.listing import EXAMPLE_ID
from scrapersky.jobs.schemas import JobOut, job_fields, status_url
from scrapersky.lists import RowSchema
from scrapersky.models import Job, SitemapFile
from scrapersky.sitemaps.batches import BatchLine, BatchMember, BatchProgress, StoredBatch
from scrapersky.sitemaps.changes import UrlChange, UrlChangeKind
from scrapersky.sitemaps.listing import SITEMAP_FILES
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT
from scrapersky.sitemaps.url_lists import StoredUrl

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Any JSON value. One that is no text is reported as an invalid line instead of failing the
request.
"""
BATCH_STATUS_URL = "/api/v3/sitemap/batch/status/{}"


class BatchIn(BaseModel):
    """A batch of domains to scan."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"domains": ["example.com", "example.org"], "max_pages": 100}]
        },
    )

    domains: list[AnyText] = Field(description="Domains or URLs. At most BATCH_MAX_DOMAINS.")
    max_pages: Annotated[int, Field(strict=True, ge=1, le=MAX_PAGES_LIMIT)] | None = Field(
        default=None,
        description="Maximum number of URLs to store per domain. Defaults to the setting.",
    )


class BatchLineOut(BaseModel):
    """The result of one line: a job or an error."""

    input: str = Field(examples=["https://www.example.com/"])
    domain: str | None = Field(default=None, examples=["example.com"])
    job_id: UUID | None = Field(default=None, examples=[EXAMPLE_ID])
    already_active: bool | None = Field(
        default=None, description="True if the domain was already being scanned."
    )
    error: str | None = None


class BatchOut(BaseModel):
    batch_id: UUID = Field(examples=[EXAMPLE_ID])
    status_url: str = Field(examples=[BATCH_STATUS_URL.format(EXAMPLE_ID)])
    created_at: datetime
    accepted: int = Field(description="Domains with a job.")
    rejected: int = Field(description="Invalid lines.")
    duplicates: int = Field(description="Duplicate lines, which are ignored.")
    results: list[BatchLineOut]


class MemberOut(BaseModel):
    domain: str = Field(examples=["example.com"])
    job_id: UUID | None = Field(examples=[EXAMPLE_ID])
    already_active: bool
    status: str = Field(
        examples=["complete"], description="Status of the job. `deleted` if retention removed it."
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
    progress: float = Field(
        ge=0, le=1, description="Total progress (0–1). A finished job counts as 1."
    )
    total: int
    rejected: int
    counts: dict[str, int] = Field(examples=[{"complete": 3, "pending": 1}])
    items: list[MemberOut]
    next_cursor: str | None = Field(description="Pass as `cursor` to get the next page.")


def batch_out(requested: StoredBatch) -> BatchOut:
    batch = requested.batch
    return BatchOut(
        batch_id=batch.id,
        status_url=BATCH_STATUS_URL.format(batch.id),
        created_at=batch.created_at,
        accepted=batch.accepted,
        rejected=batch.rejected,
        duplicates=requested.duplicates,
        results=[_line_out(each) for each in requested.lines],
    )


def _line_out(line: BatchLine) -> BatchLineOut:
    if line.error is not None:
        return BatchLineOut(input=line.text, error=line.error)
    return BatchLineOut(
        input=line.text,
        domain=line.subject,
        job_id=line.job_id,
        already_active=line.already_active,
    )


def batch_status(progress: BatchProgress, members: list[BatchMember], *, limit: int) -> BatchStatus:
    page = members[:limit]
    more = str(page[-1].position) if len(members) > limit else None
    return BatchStatus(
        batch_id=progress.batch.id,
        created_at=progress.batch.created_at,
        max_pages=progress.batch.max_pages,
        finished=progress.finished,
        progress=progress.progress,
        total=sum(progress.counts.values()),
        rejected=progress.batch.rejected,
        counts=dict(progress.counts),
        items=[_member_out(each) for each in page],
        next_cursor=more,
    )


def _member_out(member: BatchMember) -> MemberOut:
    return MemberOut(**{name: getattr(member, name) for name in MemberOut.model_fields})


class ScanIn(BaseModel):
    """A site to scan."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"base_url": "example.com", "max_pages": 100}]},
    )

    base_url: str = Field(
        max_length=2048, description="Domain or URL. A path is where the scan starts."
    )
    max_pages: Annotated[int, Field(strict=True, ge=1, le=MAX_PAGES_LIMIT)] | None = Field(
        default=None, description="Maximum number of URLs to store. Defaults to the setting."
    )


class ScanOut(BaseModel):
    job_id: UUID = Field(examples=[EXAMPLE_ID])
    status: str = Field(examples=["pending"])
    status_url: str = Field(examples=[f"/api/v3/sitemap/status/{EXAMPLE_ID}"])
    created_at: datetime
    already_active: bool = Field(description="True if the site was already being scanned.")


BRIEF_FIELDS = ("id", "url", "type", "url_count", "status", "reason", "discovery_method")


class SitemapBrief(
    RowSchema, columns=[each for each in SITEMAP_FILES.all_columns if each.name in BRIEF_FIELDS]
):
    pass


class ScanStatus(JobOut):
    sitemaps: list[SitemapBrief]


class SitemapFileOut(SitemapBrief, columns=SITEMAP_FILES.all_columns):
    dropped: dict[str, Any]


class UrlOut(BaseModel):
    url: str = Field(examples=["https://example.com/about"])
    lastmod: datetime | None
    changefreq: str | None
    priority: float | None
    sitemap_id: UUID
    first_seen: datetime


class ChangeOut(BaseModel):
    kind: UrlChangeKind
    url: str = Field(examples=["https://example.com/about"])
    at: datetime = Field(description="When the change was detected.")
    lastmod: datetime | None
    sitemap_id: UUID


def change_out(change: UrlChange) -> ChangeOut:
    return ChangeOut(**{name: getattr(change, name) for name in ChangeOut.model_fields})


def scan_out(job: Job, *, already_active: bool) -> ScanOut:
    return ScanOut(
        job_id=job.id,
        status=job.status,
        status_url=status_url(job),
        created_at=job.created_at,
        already_active=already_active,
    )


def build_file_fields(file: SitemapFile) -> dict[str, Any]:
    return {each.name: each.read(file) for each in SITEMAP_FILES.all_columns if each.api}


def scan_status(job: Job, files: list[SitemapFile]) -> ScanStatus:
    return ScanStatus(
        **job_fields(job), sitemaps=[SitemapBrief(**build_file_fields(each)) for each in files]
    )


def file_out(file: SitemapFile) -> SitemapFileOut:
    return SitemapFileOut(**build_file_fields(file), dropped=file.dropped)


def url_out(stored: StoredUrl) -> UrlOut:
    return UrlOut(**{name: getattr(stored, name) for name in UrlOut.model_fields})
