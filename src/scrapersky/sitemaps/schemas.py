"""Scans, batches, sitemap files and URLs in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from scrapersky.jobs.schemas import EXAMPLE_ID, JobOut, job_fields, status_url
from scrapersky.models import Job, SitemapFile
from scrapersky.sitemaps.batches import BatchLine, BatchMember, BatchProgress, StoredBatch
from scrapersky.sitemaps.changes import UrlChange, UrlChangeKind
from scrapersky.sitemaps.service import MAX_PAGES_LIMIT
from scrapersky.sitemaps.url_lists import StoredUrl

AnyText = Annotated[Any, WithJsonSchema({"type": "string"})]
"""Something else than a text is a bad line, and a bad line does not cost the good ones."""
BATCH_STATUS_URL = "/api/v3/sitemap/batch/status/{}"


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


class BatchLineOut(BaseModel):
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
    status_url: str = Field(examples=[BATCH_STATUS_URL.format(EXAMPLE_ID)])
    created_at: datetime
    accepted: int = Field(description="Domains that have a job now.")
    rejected: int = Field(description="Lines that name nothing that can be scanned.")
    duplicates: int = Field(description="Lines that repeat an earlier one, and are left out.")
    results: list[BatchLineOut]


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


def _member_out(member: BatchMember) -> MemberOut:
    return MemberOut(**{name: getattr(member, name) for name in MemberOut.model_fields})


class ScanIn(BaseModel):
    """What to scan."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"base_url": "example.com", "max_pages": 100}]},
    )

    base_url: str = Field(
        max_length=2048, description="A domain, or a URL; a path is where the scan starts."
    )
    max_pages: Annotated[int, Field(strict=True, ge=1, le=MAX_PAGES_LIMIT)] | None = Field(
        default=None, description="URLs to store at most; the setting's default when left out."
    )


class ScanOut(BaseModel):
    job_id: UUID = Field(examples=[EXAMPLE_ID])
    status: str = Field(examples=["pending"])
    status_url: str = Field(examples=[f"/api/v3/sitemap/status/{EXAMPLE_ID}"])
    created_at: datetime
    already_active: bool = Field(description="True when this scan had been asked for before.")


class SitemapBrief(BaseModel):
    id: UUID
    url: str = Field(examples=["https://example.com/sitemap.xml"])
    type: str | None = Field(examples=["standard"])
    url_count: int = Field(description="Different URLs in this file; of an index, its children.")
    status: str = Field(examples=["ok"])
    reason: str | None
    discovery_method: str = Field(examples=["robots_txt"])


class ScanStatus(JobOut):
    sitemaps: list[SitemapBrief]


class SitemapFileOut(SitemapBrief):
    domain_id: UUID
    job_id: UUID | None
    final_url: str | None
    parent_url: str | None
    depth: int
    size_bytes: int
    is_gzipped: bool
    has_lastmod: bool
    has_priority: bool
    has_changefreq: bool
    http_status: int | None
    response_time_ms: int | None
    generator: str | None
    etag: str | None
    last_modified: str | None
    content_hash: str | None
    dropped: dict[str, Any]
    sitemap_import_status: str = Field(examples=["Complete"])
    sitemap_import_error: str | None
    curation_status: str = Field(examples=["New"])
    last_processed_at: datetime | None
    changed_at: datetime | None = Field(description="When its content was last seen to differ.")
    gone_at: datetime | None = Field(description="When nothing named it any more.")
    created_by: UUID
    created_at: datetime
    updated_at: datetime


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
    at: datetime = Field(description="When we noticed.")
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


def brief_fields(file: SitemapFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "url": file.url,
        "type": file.sitemap_type,
        "url_count": file.url_count,
        "status": file.status,
        "reason": file.reason,
        "discovery_method": file.discovery_method,
    }


def scan_status(job: Job, files: list[SitemapFile]) -> ScanStatus:
    return ScanStatus(
        **job_fields(job), sitemaps=[SitemapBrief(**brief_fields(each)) for each in files]
    )


def file_out(file: SitemapFile) -> SitemapFileOut:
    own = set(SitemapFileOut.model_fields) - set(SitemapBrief.model_fields)
    return SitemapFileOut(**brief_fields(file), **{name: getattr(file, name) for name in own})


def url_out(stored: StoredUrl) -> UrlOut:
    return UrlOut(**{name: getattr(stored, name) for name in UrlOut.model_fields})
