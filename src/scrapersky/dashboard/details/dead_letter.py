"""The page of one dead letter: what was given up, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.details.deciding import rights
from scrapersky.dashboard.details.looking import events_of, names_of
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import (
    Domain,
    Job,
    LocalBusiness,
    Page,
    Place,
    SitemapFile,
    WebhookDelivery,
)
from scrapersky.operations.service import can_read_traceback, get_letter
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

router = APIRouter(route_class=PageRoute)

OTHERS_SHOWN = 10
PLACES: dict[type[Any], tuple[str, str, str]] = {
    Domain: ("/domains", "domain", "domain"),
    Job: ("/jobs", "subject", "job"),
    SitemapFile: ("/sitemap-files", "url", "sitemap"),
    Page: ("/pages", "url", "page"),
    Place: ("/places", "name", "place"),
    LocalBusiness: ("/local-businesses", "business_name", "business"),
    WebhookDelivery: ("/webhook-deliveries", "event", "delivery"),
}
"""Where rows are shown, the column they are known by, and what they are called."""


@dataclass(frozen=True)
class Subject:
    """The row a letter is about."""

    kind: str
    name: str
    href: str
    status: str
    error: str | None


@router.get("/dead-letters/{letter_id}")
async def dead_letter_page(
    actor: Viewer, session: Reading, show: Showing, letter_id: UUID
) -> HTMLResponse:
    letter = await get_letter(session, actor, letter_id)
    stage = next((each for each in show.context.stages if each.name == letter.stage), None)
    return show.page(
        "details/dead_letter.html",
        title=f"Dead letter: {letter.error_class}",
        letter=letter,
        can_read_traceback=can_read_traceback(actor),
        does=stage.does if stage else None,
        subject=await _subject(session, stage, letter) if stage else None,
        letter_is_open=letter.state == DeadLetterState.OPEN,
        events=await events_of(session, letter.stage, letter.row_id),
        others=await _others(session, letter),
        names=await names_of(session, [letter.closed_by]),
        **rights(actor),
    )


async def _subject(session: AsyncSession, stage: AnyStage, letter: DeadLetter) -> Subject | None:
    """Nothing once the row is gone."""
    model: Any = stage.model
    row = await session.scalar(select(model).where(model.id == letter.row_id))
    if row is None or model not in PLACES:
        return None
    place, column, kind = PLACES[model]
    queue = stage.queue.of(row)
    return Subject(kind, getattr(row, column), f"{place}/{row.id}", queue.status, queue.error)


async def _others(session: AsyncSession, letter: DeadLetter) -> Sequence[DeadLetter]:
    """Earlier and later letters about the same row."""
    found = await session.scalars(
        select(DeadLetter)
        .where(
            DeadLetter.row_id == letter.row_id,
            DeadLetter.stage == letter.stage,
            DeadLetter.id != letter.id,
        )
        .order_by(DeadLetter.died_at.desc())
        .limit(OTHERS_SHOWN)
    )
    return found.all()
