"""The dead letters table and the page of one dead letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import cells
from scrapersky.dashboard.cells import Row
from scrapersky.dashboard.details import get_permissions, get_user_names, list_events
from scrapersky.dashboard.formats import render_badge
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.table import EmptyState, Table, TableAction, TableColumn
from scrapersky.http.auth import Viewer
from scrapersky.http.context import Reading
from scrapersky.models import Domain, Job, LocalBusiness, Page, Place, SitemapFile, WebhookDelivery
from scrapersky.operations.listing import DEAD_LETTER_LISTING
from scrapersky.operations.service import can_read_traceback, get_dead_letter
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import DeadLetter, DeadLetterState

router = APIRouter(route_class=PageRoute)

MAX_OTHERS = 10
SUBJECT_COLUMNS: dict[type[Any], tuple[str, str, str]] = {
    Domain: ("/domains", "domain", "domain"),
    Job: ("/jobs", "subject", "job"),
    SitemapFile: ("/sitemap-files", "url", "sitemap"),
    Page: ("/pages", "url", "page"),
    Place: ("/places", "name", "place"),
    LocalBusiness: ("/local-businesses", "business_name", "business"),
    WebhookDelivery: ("/webhook-deliveries", "event", "delivery"),
}
"""Path, name column and noun of the rows that dead letters refer to."""


@dataclass(frozen=True)
class DeadLetterSubject:
    """The row of a dead letter."""

    kind: str
    name: str
    href: str
    status: str
    error: str | None


@router.get("/dead-letters/{letter_id}")
async def dead_letter_page(
    actor: Viewer, session: Reading, show: Renderer, letter_id: UUID
) -> HTMLResponse:
    letter = await get_dead_letter(session, actor, letter_id)
    stage = next((each for each in show.context.stages if each.name == letter.stage), None)
    return show.page(
        "details/dead_letter.html",
        title=f"Dead letter: {letter.error_class}",
        letter=letter,
        can_read_traceback=can_read_traceback(actor),
        does=stage.does if stage else None,
        subject=await _load_subject(session, stage, letter) if stage else None,
        letter_is_open=letter.state == DeadLetterState.OPEN,
        events=await list_events(session, letter.stage, letter.row_id),
        others=await _list_others(session, letter),
        names=await get_user_names(session, [letter.closed_by]),
        **get_permissions(actor),
    )


async def _load_subject(
    session: AsyncSession, stage: AnyStage, letter: DeadLetter
) -> DeadLetterSubject | None:
    """Return the row; None if it was deleted."""
    model: Any = stage.model
    row = await session.scalar(select(model).where(model.id == letter.row_id))
    if row is None or model not in SUBJECT_COLUMNS:
        return None
    place, column, kind = SUBJECT_COLUMNS[model]
    queue = stage.queue.of(row)
    return DeadLetterSubject(
        kind, getattr(row, column), f"{place}/{row.id}", queue.status, queue.error
    )


async def _list_others(session: AsyncSession, letter: DeadLetter) -> Sequence[DeadLetter]:
    """Return other dead letters of the same row."""
    rows = await session.scalars(
        select(DeadLetter)
        .where(
            DeadLetter.row_id == letter.row_id,
            DeadLetter.stage == letter.stage,
            DeadLetter.id != letter.id,
        )
        .order_by(DeadLetter.died_at.desc())
        .limit(MAX_OTHERS)
    )
    return rows.all()


REPLAY_PATH = "/dead-letters/replay"
_error_link = cells.row_link("dead-letters", cells.attribute("error"), most=120)


def _error(row: Row, may_change: bool) -> Markup:
    return _error_link(row, may_change) + cells.subtext(row.error_class)


def _state(row: Row, may_change: bool) -> Markup:
    cell = render_badge(row.state) + cells.subtext(row.note)
    is_open = row.state == DeadLetterState.OPEN
    return cell + cells.retry_button(row, REPLAY_PATH, "Replay") if is_open and may_change else cell


DEAD_LETTERS_TABLE = Table(
    kind="dead-letters",
    title="Dead letters",
    noun="dead letter",
    says="Rows that failed after all attempts. Replay them once the cause is fixed.",
    listing=DEAD_LETTER_LISTING,
    segments="state",
    search="text",
    acts=(
        TableAction("Replay", REPLAY_PATH, "replayed", key="r"),
        TableAction("Discard", "/dead-letters/discard", "discarded", key="d", danger=True),
    ),
    order="error stage state",
    cells={"state": _state},
    extra=(TableColumn("error", "Error", _error, sort="error_class"),),
    nothing=EmptyState(
        "No failed rows are waiting for you. Rows that fail permanently appear here with the error."
    ),
)
