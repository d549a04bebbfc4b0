"""The tables, all of them: the rows are the protocol between the stages."""

from scrapersky.models.accounts import (
    DEFAULT_TENANT_ID,
    Actor,
    ApiKey,
    Role,
    Tenant,
    User,
    UserSession,
    Via,
)
from scrapersky.models.audit import AuditEntry, record
from scrapersky.models.contacts import (
    BulkAction,
    BulkActionRows,
    Contact,
    ContactCuration,
    ContactEvidence,
    ContactKind,
    EmailType,
    Lead,
    LeadCuration,
    Suppression,
    SuppressionKind,
    WhyEmpty,
)
from scrapersky.models.domains import Domain, DomainCuration
from scrapersky.models.jobs import JOB_WORDS, Job, JobType
from scrapersky.models.pages import PAGE_WORDS, ContactScrape, Page, PageCuration
from scrapersky.models.requests import Batch, BatchJob, IdempotencyKey
from scrapersky.models.sitemaps import FileCuration, SitemapFile, SitemapUrl
from scrapersky.models.tenancy import keep_to_tenant
from scrapersky.scraper.site_metadata.model import SiteState

__all__ = [
    "DEFAULT_TENANT_ID",
    "JOB_WORDS",
    "PAGE_WORDS",
    "Actor",
    "ApiKey",
    "AuditEntry",
    "Batch",
    "BatchJob",
    "BulkAction",
    "BulkActionRows",
    "Contact",
    "ContactCuration",
    "ContactEvidence",
    "ContactKind",
    "ContactScrape",
    "Domain",
    "DomainCuration",
    "EmailType",
    "FileCuration",
    "IdempotencyKey",
    "Job",
    "JobType",
    "Lead",
    "LeadCuration",
    "Page",
    "PageCuration",
    "Role",
    "SiteState",
    "SitemapFile",
    "SitemapUrl",
    "Suppression",
    "SuppressionKind",
    "Tenant",
    "User",
    "UserSession",
    "Via",
    "WhyEmpty",
    "keep_to_tenant",
    "record",
]
