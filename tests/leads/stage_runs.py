"""Sites of the fake web, processed by the real stages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Domain, Page
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.vitals import RunReport
from scrapersky.scraper.http.fetch import get_gate_key
from scrapersky.scraper.http.urls import url_digest
from scrapersky.stages import STAGES
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.stage_cases import OWNED

Row = TypeVar("Row")
FILLER = "<p>We bake bread every day, and have done so for many years in this old town.</p>"


def html(body: str, *, lang: str = "de", title: str = "Muster", head: str = "") -> str:
    head = f"<head><title>{title}</title>{head}</head>"
    return f"<html lang={lang}>{head}<body>{body}{FILLER}</body></html>"


@dataclass
class Run:
    """An engine, and rows for it."""

    engine: Engine
    database: Database
    web: FakeWeb

    async def domain(self, name: str, **more: Any) -> Domain:
        async with self.database.transaction() as session:
            domain = Domain(id=uuid7(), domain=name, **OWNED, **more)
            session.add(domain)
        return domain

    async def page(self, domain: Domain, url: str, **more: Any) -> Page:
        async with self.database.transaction() as session:
            page = Page(
                id=uuid7(),
                domain_id=domain.id,
                url=url,
                url_digest=url_digest(url),
                host=get_gate_key(url),
                path_depth=1,
                **{"page_type": "contact", "page_processing_status": "Queued", **OWNED, **more},
            )
            session.add(page)
        return page

    async def work(self, *stages: str) -> list[RunReport]:
        """These stages, one after the other, or all of them in the order rows travel."""
        names = stages or tuple(stage.name for stage in STAGES)
        reports = [await run_job_loop(self.engine.runner(name)) for name in names]
        return [each for each in reports if each is not None]

    async def all(self, model: type[Row]) -> Sequence[Row]:
        async with self.database.reading() as session:
            return list(await session.scalars(select(model)))

    async def one(self, model: type[Row]) -> Row:
        (found,) = await self.all(model)
        return found


@asynccontextmanager
async def prepared(url: str, database: Database, **settings: Any) -> AsyncIterator[Run]:
    async with FakeWeb() as web:
        yield Run(None, database, web)  # type: ignore[arg-type]


@asynccontextmanager
async def started(run: Run, url: str, **settings: Any) -> AsyncIterator[Run]:
    """Once its sites stand: an engine knows names only that were pinned before."""
    made = make_settings(url, fetch_resolve=run.web.resolve, retry_base_seconds=600, **settings)
    async with run_engine(run.database, made, STAGES) as engine:
        run.engine = engine
        yield run
