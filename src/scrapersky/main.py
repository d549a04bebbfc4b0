"""Create the application: wire up database, engine and routes, and close them on shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from scrapersky import __version__
from scrapersky.auth.service import get_system_actor
from scrapersky.dashboard.page_route import handle_not_found
from scrapersky.db.connection import Say, open_database
from scrapersky.http.application import AppContext
from scrapersky.http.credentials import build_token_verifier
from scrapersky.http.middleware import install_middleware
from scrapersky.http.problems import install_error_handlers
from scrapersky.pipeline.chores import run_chores
from scrapersky.pipeline.scheduler import run_scheduler
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings, load_settings

DESCRIPTION = """
From a search, a list of domains or one site to every sitemap and every URL in it.

A request stores a row and answers at once; schedulers work the rows. Errors are problem documents
(RFC 9457) with a `request_id` that stands in the log too.
"""


@cache
def _build_routes() -> list[BaseRoute]:
    """Build all routes once per process, however many applications it creates.

    The framework inspects every handler, which takes longer than importing it. Routers are
    imported here, so that importing this module stays cheap.
    """
    from scrapersky.api import ROUTERS
    from scrapersky.dashboard.rendering import STATIC_FILES
    from scrapersky.dashboard.views.routes import router as dashboard

    root = APIRouter()
    for router in (*ROUTERS, dashboard):
        root.include_router(router)
    return [*root.routes, STATIC_FILES]


def create_app(settings: Settings | None = None, *, say: Say | None = None) -> FastAPI:
    settings = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.context = await _open_context(settings, stack, say)
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


async def _open_context(settings: Settings, stack: AsyncExitStack, say: Say | None) -> AppContext:
    """Open all resources, and close them in reverse order on every exit path."""
    # Imported here: the stages load the whole scraper.
    from scrapersky import stages

    tokens = build_token_verifier(settings)
    database = await stack.enter_async_context(open_database(settings, say=say))
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
