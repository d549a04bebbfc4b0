"""The application: wires database, engine and routes together, and takes them down again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException

from scrapersky import __version__
from scrapersky.accounts.service import system_actor
from scrapersky.api import ROUTERS
from scrapersky.dashboard.page_route import not_there
from scrapersky.dashboard.routes import router as dashboard
from scrapersky.dashboard.static_files import STATIC_FILES
from scrapersky.db.opening import Say, open_database
from scrapersky.http.context import AppContext
from scrapersky.http.errors import install_error_handlers
from scrapersky.http.middleware import install_middleware
from scrapersky.http.tokens import tokens_from
from scrapersky.pipeline.chores import doing_chores
from scrapersky.pipeline.scheduler import running_scheduler
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings, load_settings
from scrapersky.stages import CHORES, STAGES, WATCHING

DESCRIPTION = """
From a search, a list of domains or one site to every sitemap and every URL in it.

A request stores a row and answers at once; schedulers work the rows. Errors are problem documents
(RFC 9457) with a `request_id` that stands in the log too.
"""


EVERYTHING = APIRouter()
"""All routes. What the framework works out about them it works out once, however many applications
there are: a third of a second each."""
for each in (*ROUTERS, dashboard):
    EVERYTHING.include_router(each)


def create_app(settings: Settings | None = None, *, say: Say | None = None) -> FastAPI:
    settings = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.context = await _open(settings, stack, say)
            yield

    app = FastAPI(
        title="ScraperSky",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        # The framework's own pages are open to all and load scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    install_error_handlers(app)
    app.add_exception_handler(HTTPException, not_there)
    install_middleware(app, settings)
    app.router.routes.extend([*EVERYTHING.routes, STATIC_FILES])
    return app


async def _open(settings: Settings, stack: AsyncExitStack, say: Say | None) -> AppContext:
    """Everything is closed in the reverse order, whatever happens on the way."""
    tokens = tokens_from(settings)
    database = await stack.enter_async_context(open_database(settings, say=say))
    async with database.reading() as session:
        system = await system_actor(session, settings)
    if settings.scheduler_enabled:
        scheduler = await stack.enter_async_context(
            running_scheduler(database, settings, STAGES, CHORES)
        )
        wakeups = scheduler.engine.wakeups
    else:
        scheduler, wakeups = None, Wakeups(database)
        stack.push_async_callback(wakeups.close)
        await stack.enter_async_context(doing_chores(database, settings, WATCHING))
    return AppContext(
        settings=settings,
        database=database,
        wakeups=wakeups,
        stages=STAGES,
        scheduler=scheduler,
        system=system,
        tokens=tokens,
    )
