"""Restrict a session to the rows of one tenant.

The condition is added to every statement, so a service that forgets it still sees no other tenant's
rows. Sessions of requests are restricted. The engine's sessions are not, because it processes rows
of all tenants.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, event, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, ORMExecuteState, Session, with_loader_criteria
from sqlalchemy.orm.util import LoaderCriteriaOption

from scrapersky.models.accounts import DEFAULT_TENANT_ID, Tenant
from scrapersky.models.contacts import BulkAction, BulkActionRows
from scrapersky.models.jobs import Batch, BatchJob
from scrapersky.models.ownership import TenantMixin
from scrapersky.models.sitemaps import SitemapFile, SitemapUrl
from scrapersky.pipeline.tables import DeadLetter

TENANT_KEY = "scrapersky.tenant"


def restrict_to_tenant(session: AsyncSession, tenant_id: UUID) -> None:
    """Restrict all further reads and writes of the session to this tenant's rows."""
    session.info[TENANT_KEY] = tenant_id


@event.listens_for(Session, "do_orm_execute")
def _add_conditions(state: ORMExecuteState) -> None:
    tenant_id = state.session.info.get(TENANT_KEY)
    if tenant_id is not None and not state.is_insert:
        state.statement = state.statement.options(*_conditions(tenant_id))


def _conditions(tenant_id: UUID) -> tuple[LoaderCriteriaOption, ...]:
    return (
        with_loader_criteria(
            TenantMixin, lambda model: model.tenant_id == tenant_id, include_aliases=True
        ),
        with_loader_criteria(Tenant, Tenant.id == tenant_id, include_aliases=True),
        with_loader_criteria(
            DeadLetter, _build_dead_letter_condition(tenant_id), include_aliases=True
        ),
        with_loader_criteria(
            SitemapUrl,
            _build_owner_condition(SitemapUrl.sitemap_id, SitemapFile, tenant_id),
            include_aliases=True,
        ),
        with_loader_criteria(
            BatchJob,
            _build_owner_condition(BatchJob.batch_id, Batch, tenant_id),
            include_aliases=True,
        ),
        with_loader_criteria(
            BulkActionRows,
            _build_owner_condition(BulkActionRows.action_id, BulkAction, tenant_id),
            include_aliases=True,
        ),
    )


def _build_dead_letter_condition(tenant_id: UUID) -> ColumnElement[bool]:
    """Assign dead letters of rows without a tenant to the operators."""
    mine = DeadLetter.tenant_id == tenant_id
    return or_(mine, DeadLetter.tenant_id.is_(None)) if tenant_id == DEFAULT_TENANT_ID else mine


def _build_owner_condition(
    key: InstrumentedAttribute[UUID], owner: type[SitemapFile | Batch | BulkAction], tenant_id: UUID
) -> ColumnElement[bool]:
    """Filter by the tenant of the parent: tables with millions of rows have no tenant column."""
    return key.in_(select(owner.id).where(owner.tenant_id == tenant_id))
