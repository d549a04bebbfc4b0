"""Who changed what and when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from scrapersky.accounts import audit
from scrapersky.accounts.schemas import AuditEntryOut
from scrapersky.http.auth import Admin
from scrapersky.http.context import Reading
from scrapersky.http.errors import problem_responses
from scrapersky.http.pagination import Cursor, Limit, Page

router = APIRouter(prefix="/audit", tags=["accounts"], responses=problem_responses(401, 403, 422))


@router.get("", summary="What was done, newest first")
async def list_entries(
    session: Reading,
    asking: Admin,
    actor: Annotated[UUID | None, Query(description="The id of the user who did it.")] = None,
    action: Annotated[str | None, Query(examples=["job.cancel"])] = None,
    since: Annotated[datetime | None, Query(examples=["2026-11-01T00:00:00Z"])] = None,
    until: Annotated[datetime | None, Query(examples=["2026-11-02T00:00:00Z"])] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[AuditEntryOut]:
    wanted = audit.Wanted(actor_id=actor, action=action, since=since, until=until)
    found, following = await audit.entries(session, asking, wanted, cursor=cursor, limit=limit)
    return Page(items=[AuditEntryOut.model_validate(each) for each in found], next_cursor=following)
