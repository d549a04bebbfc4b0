"""The tables, all of them: the rows are the protocol between the stages."""

from scrapersky.models.accounts import (
    DEFAULT_TENANT_ID,
    Actor,
    ApiKey,
    Role,
    Tenant,
    User,
    Via,
)
from scrapersky.models.audit import AuditEntry, record
from scrapersky.models.domains import Domain, DomainCuration
from scrapersky.models.jobs import JOB_WORDS, Job, JobType
from scrapersky.models.pages import Page, PageCuration
from scrapersky.models.requests import Batch, BatchJob, IdempotencyKey
from scrapersky.models.sitemaps import SitemapFile, SitemapUrl
from scrapersky.models.tenancy import keep_to_tenant

__all__ = [
    "DEFAULT_TENANT_ID",
    "JOB_WORDS",
    "Actor",
    "ApiKey",
    "AuditEntry",
    "Batch",
    "BatchJob",
    "Domain",
    "DomainCuration",
    "IdempotencyKey",
    "Job",
    "JobType",
    "Page",
    "PageCuration",
    "Role",
    "SitemapFile",
    "SitemapUrl",
    "Tenant",
    "User",
    "Via",
    "keep_to_tenant",
    "record",
]
