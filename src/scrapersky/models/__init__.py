"""The tables, all of them: the rows are the protocol between the stages."""

from scrapersky.models.accounts import DEFAULT_TENANT_ID, Actor, ApiKey, Role, Tenant, User
from scrapersky.models.domains import Domain, DomainCuration
from scrapersky.models.jobs import JOB_WORDS, Job, JobType
from scrapersky.models.pages import Page, PageCuration
from scrapersky.models.sitemaps import SitemapFile, SitemapUrl

__all__ = [
    "DEFAULT_TENANT_ID",
    "JOB_WORDS",
    "Actor",
    "ApiKey",
    "Domain",
    "DomainCuration",
    "Job",
    "JobType",
    "Page",
    "PageCuration",
    "Role",
    "SitemapFile",
    "SitemapUrl",
    "Tenant",
    "User",
]
