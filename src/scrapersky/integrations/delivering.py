"""Tell receivers what happened, each event once or more, until it is taken."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky import __version__
from scrapersky.errors import Rejected, RetryLater, ScraperSkyError, Skipped
from scrapersky.integrations.excerpts import excerpt
from scrapersky.integrations.withholding import without_suppressed
from scrapersky.models import DELIVERY_WORDS, WebhookDelivery, WebhookEndpoint, WebhookEvent
from scrapersky.models.announced import API_VERSION
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.pipeline.stage import AtOnce, Stage, Tools
from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.failures import Blocked, FetchFailed
from scrapersky.scraper.post import Posted, refusal, send
from scrapersky.scraper.signing import signing_headers
from scrapersky.settings import Pace

GONE = 410
PASSING_REFUSALS = frozenset({408, 425, 429})
"""Of the 4xx, those by which a receiver asks to be told again."""
WAITS_AT_LEAST = timedelta(seconds=1)
PATIENCE = timedelta(days=3)
"""For so long a receiver may put us off without that counting as a try."""


@dataclass(frozen=True)
class Parcel:
    """One event for one endpoint."""

    id: UUID
    tenant_id: UUID
    endpoint_id: UUID
    event: str
    data: Mapping[str, Any]
    created_at: datetime
    age: timedelta = timedelta()
    url: str = ""
    secret: str = field(default="", repr=False)

    @property
    def body(self) -> bytes:
        told = {
            "id": str(self.id),
            "event": self.event,
            "api_version": API_VERSION,
            "created_at": self.created_at.isoformat(),
            "tenant_id": str(self.tenant_id),
            "data": self.data,
        }
        return json.dumps(told, ensure_ascii=False).encode()


@dataclass(frozen=True)
class Taken:
    """The receiver said that it has it."""

    status: int


@dataclass(frozen=True)
class NotTaken(AtOnce):
    """This try failed: its endpoint learns it before the row does."""

    why: str
    status: int | None = None
    is_gone: bool = False
    """The receiver said that it is there no more."""


class DeliveryFailed(ScraperSkyError):
    """It was not taken this time; trying again later may help."""


def read(delivery: WebhookDelivery) -> Parcel:
    return Parcel(
        id=delivery.id,
        tenant_id=delivery.tenant_id,
        endpoint_id=delivery.endpoint_id,
        event=delivery.event,
        data=delivery.payload,
        created_at=delivery.created_at,
    )


async def prepare(session: AsyncSession, parcel: Parcel) -> Parcel:
    endpoint = await session.get(WebhookEndpoint, parcel.endpoint_id)
    if endpoint is None:
        raise Skipped("The endpoint was deleted.")
    if not endpoint.is_active and parcel.event != WebhookEvent.TEST:
        raise Skipped("The endpoint is switched off.")
    now = (await session.scalars(select(func.now()))).one()
    return replace(
        parcel,
        data=await without_suppressed(session, parcel.tenant_id, parcel.event, parcel.data),
        age=now - parcel.created_at,
        url=endpoint.url,
        secret=endpoint.secret,
    )


async def work(parcel: Parcel, tools: Tools) -> AsyncIterator[Taken | NotTaken]:
    try:
        answer = await _post(parcel, tools)
    except FetchFailed as error:
        yield NotTaken(str(error))
        raise (Rejected if isinstance(error, Blocked) else DeliveryFailed)(str(error)) from error
    if answer.is_taken:
        yield Taken(answer.status)
        return
    verdict = _verdict(parcel, answer)
    yield NotTaken(str(verdict), answer.status, is_gone=answer.status == GONE)
    raise verdict


async def _post(parcel: Parcel, tools: Tools) -> Posted:
    body = parcel.body
    return await send(
        parcel.url,
        body,
        headers=_headers(parcel, body),
        rules=AddressRules.for_webhooks(tools.settings),
        timeout_seconds=tools.settings.webhook_timeout_seconds,
        ca_file=tools.settings.fetch_ca_file,
    )


def _headers(parcel: Parcel, body: bytes) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": f"ScraperSky/{__version__}",
        "Idempotency-Key": str(parcel.id),
        "X-ScraperSky-Delivery": str(parcel.id),
        "X-ScraperSky-Event": parcel.event,
        **signing_headers(parcel.secret, int(time.time()), body),
    }


def _verdict(parcel: Parcel, answer: Posted) -> ScraperSkyError:
    """What an answer other than "taken" means for the delivery."""
    if answer.status == GONE:
        return Rejected("The receiver says that it is gone (410), so the endpoint is switched off.")
    sentence = refusal(parcel.url, answer)
    if answer.is_public:
        # Of a private target only the status: its words are for those who can reach it anyhow.
        sentence += excerpt(answer.body)
    if 300 <= answer.status < 500 and answer.status not in PASSING_REFUSALS:
        return Rejected(sentence)
    wait = answer.retry_after_seconds
    if answer.status in (429, 503) and wait is not None and parcel.age < PATIENCE:
        return RetryLater(sentence, after=max(timedelta(seconds=wait), WAITS_AT_LEAST))
    return DeliveryFailed(sentence)


async def store(session: AsyncSession, delivery: WebhookDelivery, end: Taken | NotTaken) -> None:
    delivery.response_status = end.status
    if isinstance(end, Taken):
        delivery.delivered_at = func.now()
        await _note_success(session, delivery.endpoint_id)
    else:
        await _note_failure(session, delivery.endpoint_id, end)


async def _note_success(session: AsyncSession, endpoint_id: UUID) -> None:
    """Once for all that are stored together."""
    endpoint = WebhookEndpoint
    news = or_(
        endpoint.failures > 0,
        endpoint.last_delivery_at.is_(None),
        endpoint.last_delivery_at < func.now(),
    )
    await session.execute(
        update(endpoint)
        .where(endpoint.id == endpoint_id, news)
        .values(failures=0, last_error=None, last_delivery_at=func.now())
        .execution_options(synchronize_session=False)
    )


async def _note_failure(session: AsyncSession, endpoint_id: UUID, end: NotTaken) -> None:
    switched_off = {"is_active": False} if end.is_gone else {}
    await session.execute(
        update(WebhookEndpoint)
        .where(WebhookEndpoint.id == endpoint_id)
        .values(failures=WebhookEndpoint.failures + 1, last_error=end.why, **switched_off)
        .execution_options(synchronize_session=False)
    )


STAGE = Stage(
    name=DELIVERY_STAGE,
    does="Tell receivers by webhook what happened, until they have taken it.",
    model=WebhookDelivery,
    status="status",
    words=DELIVERY_WORDS,
    prefix="WEBHOOK_SCHEDULER",
    # The timeout is above the longest that a receiver may be given for one try; a receiver that
    # hangs holds HOST_CONCURRENCY of the slots, and several may.
    pace=Pace(batch_size=20, concurrency=16, timeout_seconds=75, max_attempts=10),
    host="host",
    fresh={"response_status": None, "delivered_at": None},
    read=read,
    prepare=prepare,
    work=work,
    store=store,
)
