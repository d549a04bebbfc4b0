"""Webhook receivers on the fake web, their endpoints, and a run of the delivery stage."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiohttp.web import BaseRequest, Response, StreamResponse
from sqlalchemy import select, update
from standardwebhooks import Webhook, WebhookVerificationError

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import WebhookDelivery, WebhookEndpoint, WebhookEvent
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.models.webhook_events import emit_event
from scrapersky.pipeline.engine import Engine, run_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.stages import STAGES
from tests.conftest import make_settings
from tests.fake_web import FakeWeb
from tests.stage_cases import OWNED

SECRET = "whsec_YmV0d2VlbiB0aGUgdHdvIG9mIHVz"
ALL = [each.value for each in WebhookEvent]
FINISHED = {"id": str(uuid7()), "status": "complete", "subject": "Käserei"}


@dataclass(frozen=True)
class Got:
    headers: Mapping[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class Receiver:
    """Keeps what it is sent, and answers what it is told to; then that it has it."""

    url: str
    got: list[Got] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)

    async def take(self, request: BaseRequest) -> StreamResponse:
        self.got.append(Got(dict(request.headers), await request.read()))
        return self.answers.pop(0) if self.answers else Response(status=204)


def receiver(web: FakeWeb, name: str = "hooks.example", path: str = "/catch") -> Receiver:
    host = web.host(name)
    made = Receiver(f"{host.base}{path}")
    host.route(path, made.take)
    return made


def is_signed(got: Got, secret: str | bytes) -> bool:
    try:
        Webhook(secret).verify(got.body, dict(got.headers))
    except WebhookVerificationError:
        return False
    return True


async def add_endpoint(
    database: Database, url: str = "https://hooks.example/catch", **more: Any
) -> UUID:
    known = {"id": uuid7(), "secret": SECRET, "events": ALL, **OWNED, **more}
    async with database.transaction() as session:
        endpoint = WebhookEndpoint(url=url, **known)
        session.add(endpoint)
    return endpoint.id


async def tell(
    database: Database,
    data: Mapping[str, Any] = FINISHED,
    event: WebhookEvent = WebhookEvent.JOB_FINISHED,
) -> None:
    async with database.transaction() as session:
        await emit_event(session, OWNED["tenant_id"], event, None, data)


async def deliveries(database: Database) -> Sequence[WebhookDelivery]:
    """In the order in which they were made."""
    async with database.reading() as session:
        return list(await session.scalars(select(WebhookDelivery).order_by(WebhookDelivery.id)))


async def only_delivery(database: Database) -> WebhookDelivery:
    (found,) = await deliveries(database)
    return found


async def endpoint_of(database: Database, endpoint_id: UUID) -> WebhookEndpoint:
    async with database.reading() as session:
        return await session.get_one(WebhookEndpoint, endpoint_id)


async def letters(database: Database) -> Sequence[DeadLetter]:
    async with database.reading() as session:
        return list(await session.scalars(select(DeadLetter)))


async def make_due(database: Database) -> None:
    async with database.transaction() as session:
        await session.execute(update(WebhookDelivery).values(due_at=WebhookDelivery.created_at))


@dataclass
class Post:
    """The stage, run when the test says so."""

    engine: Engine
    database: Database

    async def work(self) -> None:
        await make_due(self.database)
        await run_job_loop(self.engine.runner(DELIVERY_STAGE))


@asynccontextmanager
async def posting(
    url: str, database: Database, web: FakeWeb, **settings: Any
) -> AsyncIterator[Post]:
    """Once the receivers stand: an engine knows names only that were pinned before."""
    made = make_settings(url, fetch_resolve=web.resolve, retry_base_seconds=600, **settings)
    async with run_engine(database, made, STAGES) as engine:
        yield Post(engine, database)
