"""Hand in whatever one has: the one route behind the dashboard's box."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.http.auth import Curator
from scrapersky.http.context import Context, Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.intake.taking import Asker
from scrapersky.http.list_bodies import ListRoute
from scrapersky.starting import service
from scrapersky.starting.schemas import StartIn, StartOut, start_out

router = APIRouter(
    route_class=ListRoute,
    tags=["start"],
    responses=problem_responses(400, 401, 403, 415, 422),
)


@router.post("/start", status_code=202, summary="Hand in domains, sitemaps and pages, mixed")
async def start(
    actor: Curator, context: Context, session: Transaction, wanted: StartIn
) -> StartOut:
    """Each entry is taken for what it looks like: a bare name is a domain, an address that ends
    like a sitemap is one, every other address is a page. Bad entries are reported and the others
    are kept. A domain or page that is there already stays as it is, but for one that was only
    stored; a sitemap is read again."""
    if wanted.dry_run:
        return start_out(service.would_start(wanted.text, context.settings), dry_run=True)
    asker = Asker(session, actor, context.settings, wanted.queue)
    return start_out(await service.start(asker, wanted.text), dry_run=False)
