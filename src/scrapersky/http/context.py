"""Route dependencies: the application context and sessions restricted to the caller's tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.errors import NotAllowed
from scrapersky.http.application import AppContext, Context, get_context
from scrapersky.http.auth import OPERATORS_ONLY, Identity
from scrapersky.http.idempotency import open_transaction
from scrapersky.models import Actor, record, restrict_to_tenant
from scrapersky.models.audit import has_recorded

__all__ = [
    "AppContext",
    "Context",
    "OperatorTransaction",
    "Overview",
    "Reading",
    "Transaction",
    "get_context",
]


async def get_transaction(
    request: Request, context: Context, actor: Identity
) -> AsyncIterator[AsyncSession]:
    async with open_transaction(request, context.database, actor.tenant_id) as session:
        restrict_to_tenant(session, actor.tenant_id)
        yield session
        if not has_recorded(session):
            _record_request(session, actor, request)


async def get_operator_transaction(
    request: Request, context: Context, actor: Identity
) -> AsyncIterator[AsyncSession]:
    """Open a transaction that can access the rows of all tenants.

    The operator check is repeated here: a route that forgets its role must not expose other
    tenants' rows.
    """
    if not actor.is_operator:
        raise NotAllowed(OPERATORS_ONLY)
    async with open_transaction(request, context.database, actor.tenant_id) as session:
        yield session
        if not has_recorded(session):
            _record_request(session, actor, request)


def _record_request(session: AsyncSession, actor: Actor, request: Request) -> None:
    """Write a generic audit entry for a route whose service recorded none."""
    route = request.scope["route"]
    subject = next(iter(request.path_params.values()), None)
    record(session, actor, f"{route.tags[0]}.{route.name}", subject)


async def get_reading(context: Context, actor: Identity) -> AsyncIterator[AsyncSession]:
    async with context.database.reading() as session:
        restrict_to_tenant(session, actor.tenant_id)
        yield session


async def get_overview(context: Context, actor: Identity) -> AsyncIterator[AsyncSession]:
    """Open a session for statistics: operators see all tenants, other users their own."""
    async with context.database.reading() as session:
        if not actor.is_operator:
            restrict_to_tenant(session, actor.tenant_id)
        yield session


# scope="function" commits before the response is sent. With the default scope a failed commit would
# already have been answered as a success.
Transaction = Annotated[AsyncSession, Depends(get_transaction, scope="function")]
OperatorTransaction = Annotated[AsyncSession, Depends(get_operator_transaction, scope="function")]
Reading = Annotated[AsyncSession, Depends(get_reading, scope="function")]
Overview = Annotated[AsyncSession, Depends(get_overview, scope="function")]
