"""Create the application: wire up database, engine and routes, and close them on shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from scrapersky import __version__
from scrapersky.auth.service import get_system_actor
from scrapersky.dashboard.page_route import handle_not_found
from scrapersky.db.connection import ProgressCallback, open_database
from scrapersky.http.application import AppContext
from scrapersky.http.middleware import install_middleware
from scrapersky.http.problems import install_error_handlers
from scrapersky.pipeline.chores import run_chores
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings, load_settings

if TYPE_CHECKING:
    from scrapersky.http.tokens import TokenVerifier

DESCRIPTION = """
Find businesses, crawl their sites and extract contacts: from a place search, a list of domains
or a single site to sitemaps, pages, contacts and leads.

A request stores a row and returns immediately; the schedulers process the rows. Errors are problem
documents (RFC 9457) with a `request_id` that also appears in the log.
"""


@cache
def _build_routes() -> list[BaseRoute]:
    """Build all routes once per process, however many applications it creates.

    The framework inspects every handler, which takes longer than importing it. Routers are
    imported here, so that importing this module stays cheap, and their routes are used as they
    are: including the routers in another one would inspect every handler once more.
    """
    from scrapersky.api import ROUTERS
    from scrapersky.dashboard.rendering import STATIC_FILES
    from scrapersky.dashboard.views.routes import router as dashboard

    routes = (route for router in (*ROUTERS, dashboard) for route in router.routes)
    return [*routes, STATIC_FILES]


def create_app(
    settings: Settings | None = None, *, report: ProgressCallback | None = None
) -> FastAPI:
    settings = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.context = await _open_context(settings, stack, report)
            yield

    app = FastAPI(
        title="ScraperSky",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        # The framework's own docs pages need no sign-in and load scripts from a CDN.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    install_error_handlers(app)
    app.add_exception_handler(HTTPException, handle_not_found)
    install_middleware(app, settings)
    app.router.routes.extend(_build_routes())
    return app


async def _open_context(
    settings: Settings, stack: AsyncExitStack, report: ProgressCallback | None
) -> AppContext:
    """Open all resources, and close them in reverse order on every exit path."""
    # Imported here: the stages load the whole scraper.
    from scrapersky import stages

    tokens = _build_token_verifier(settings)
    database = await stack.enter_async_context(open_database(settings, report=report))
    async with database.reading() as session:
        system = await get_system_actor(session, settings)
    if settings.scheduler_enabled:
        scheduler = await stack.enter_async_context(
            run_scheduler(database, settings, stages.STAGES, stages.CHORES)
        )
        wakeups = scheduler.engine.wakeups
    else:
        scheduler, wakeups = None, Wakeups(database)
        stack.push_async_callback(wakeups.close)
        await stack.enter_async_context(run_chores(database, settings, stages.MONITORING_CHORES))
    return AppContext(
        settings=settings,
        database=database,
        wakeups=wakeups,
        stages=stages.STAGES,
        scheduler=scheduler,
        system=system,
        tokens=tokens,
    )


def _build_token_verifier(settings: Settings) -> TokenVerifier | None:
    """Build the verifier of bearer tokens; None if tokens are not configured."""
    if not settings.jwt_secret and not settings.jwt_public_key:
        return None
    # Imported here: cryptography takes long to load, and most installations use no tokens.
    from scrapersky.http.tokens import build_token_verifier

    return build_token_verifier(settings)
