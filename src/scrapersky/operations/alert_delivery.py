"""Post operator alerts to ALERT_WEBHOOK_URL, retried with backoff.

Claiming a post moves its due time past the next attempt, so a crash while posting leaves a
scheduled retry. A post may therefore arrive twice. It carries an id by which receivers can
deduplicate.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky import __version__
from scrapersky.db.session import Database
from scrapersky.errors import ResourceExhausted
from scrapersky.logging import get_logger
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.outcome import format_error
from scrapersky.pipeline.tables import Alert, AlertPost
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch_errors import FetchFailed
from scrapersky.scraper.http.webhook_client import build_signature_headers, post_or_raise
from scrapersky.settings import Settings

POST_INTERVAL = timedelta(seconds=5)
POST_BATCH_SIZE = 20
MAX_POST_SECONDS = 10.0
"""Timeout of one attempt, unless FETCH_TIMEOUT_SECONDS is shorter."""
MIN_RETRY_DELAY = timedelta(seconds=15)
"""Longer than the timeout, so that a post that hangs is never sent twice concurrently."""
MAX_RETRY_DELAY = timedelta(hours=1)
MAX_POST_AGE = timedelta(days=3)

log = get_logger(__name__)


@dataclass(frozen=True)
class AlertMessage:
    """A post with its alert."""

    post: AlertPost
    alert: Alert

    @property
    def body(self) -> bytes:
        alert = self.alert
        told: dict[str, Any] = {
            "id": str(self.post.id),
            "event": self.post.event,
            "alert": {
                "id": str(alert.id),
                "rule": alert.rule,
                "subject": alert.subject,
                "sentence": alert.sentence,
                "began_at": alert.began_at.isoformat(),
                "cleared_at": alert.cleared_at.isoformat() if alert.cleared_at else None,
            },
        }
        return json.dumps(told, ensure_ascii=False).encode()


async def post_due_alerts(database: Database, settings: Settings) -> int:
    """Post all due alerts concurrently, and return how many were accepted."""
    if not settings.alert_webhook_url:
        return 0
    messages = await _claim_due_posts(database)
    taken = await asyncio.gather(*(_post_alert(database, settings, each) for each in messages))
    return sum(taken)


async def _claim_due_posts(database: Database) -> list[AlertMessage]:
    due = (
        select(AlertPost.id)
        .where(AlertPost.ended_at.is_(None), AlertPost.due_at <= func.now())
        .order_by(AlertPost.due_at)
        .limit(POST_BATCH_SIZE)
        .with_for_update(skip_locked=True)
        .cte("due")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        found = await session.scalars(
            update(AlertPost)
            .where(AlertPost.id == due.c.id)
            .values(attempts=AlertPost.attempts + 1, due_at=func.now() + _build_backoff())
            .returning(AlertPost)
            .execution_options(synchronize_session=False)
        )
        return await _load_alerts(session, found.all())


async def _load_alerts(session: AsyncSession, posts: Sequence[AlertPost]) -> list[AlertMessage]:
    wanted = [each.alert_id for each in posts]
    found = await session.scalars(select(Alert).where(Alert.id == func.any(wanted)))
    alerts = {each.id: each for each in found}
    return [AlertMessage(each, alerts[each.alert_id]) for each in posts]


def _build_backoff() -> ColumnElement[timedelta]:
    """Build the exponential backoff, up to MAX_RETRY_DELAY."""
    doubled = func.power(2, func.least(AlertPost.attempts, 20))
    seconds = func.least(MIN_RETRY_DELAY.total_seconds() * doubled, MAX_RETRY_DELAY.total_seconds())
    return func.make_interval(0, 0, 0, 0, 0, 0, seconds)


async def _post_alert(database: Database, settings: Settings, message: AlertMessage) -> bool:
    try:
        await _send(settings, message)
    except (FetchFailed, ResourceExhausted) as error:
        await _record_failure(database, message, format_error(error))
        return False
    await _finish_post(database, message, error=None)
    return True


async def _send(settings: Settings, message: AlertMessage) -> None:
    body, timestamp = message.body, int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"ScraperSky/{__version__}",
        "Idempotency-Key": str(message.post.id),
        **build_signature_headers(settings.alert_webhook_secret, timestamp, body),
    }
    await post_or_raise(
        settings.alert_webhook_url,
        body,
        headers=headers,
        rules=AddressRules.from_webhook_settings(settings),
        timeout_seconds=min(MAX_POST_SECONDS, settings.fetch_timeout_seconds),
        ca_file=settings.fetch_ca_file,
    )


async def _record_failure(database: Database, message: AlertMessage, why: str) -> None:
    log.warning("alert not posted", rule=message.alert.rule, error=why)
    old = AlertPost.created_at < func.now() - MAX_POST_AGE
    given_up = case((old, func.now()), else_=None)
    await _update_post(database, message, error=why, ended_at=given_up)


async def _finish_post(database: Database, message: AlertMessage, *, error: str | None) -> None:
    await _update_post(database, message, error=error, ended_at=func.now())


async def _update_post(database: Database, message: AlertMessage, **values: Any) -> None:
    async with database.transaction() as session:
        changed = update(AlertPost).where(AlertPost.id == message.post.id).values(**values)
        await session.execute(changed.execution_options(synchronize_session=False))


CHORE = Chore(
    name="post_alerts",
    does="Post alerts to ALERT_WEBHOOK_URL, until they are taken.",
    every=POST_INTERVAL,
    run=post_due_alerts,
)
