"""Post alerts to the webhook until they are taken, however often that fails.

A post is taken up by moving its due time past the next try: whoever dies while posting has
scheduled the repetition already. So one may arrive twice, and carries an id to tell.
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
from scrapersky.errors import OwnLimitReached
from scrapersky.logging import get_logger
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.outcome import sentence
from scrapersky.pipeline.tables import Alert, AlertPost
from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.failures import FetchFailed
from scrapersky.scraper.post import post
from scrapersky.scraper.signing import signing_headers
from scrapersky.settings import Settings

POST_EVERY = timedelta(seconds=5)
AT_ONCE = 20
LONGEST_SECONDS = 10.0
"""For one try, unless FETCH_TIMEOUT_SECONDS is less."""
FIRST_RETRY = timedelta(seconds=15)
"""Longer than the timeout, so that a post that hangs is not under way twice."""
LAST_RETRY = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(days=3)

log = get_logger(__name__)


@dataclass(frozen=True)
class Message:
    """A post with what it tells."""

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


async def post_due(database: Database, settings: Settings) -> int:
    """Post what is due, all at once; how many were taken."""
    if not settings.alert_webhook_url:
        return 0
    messages = await _take_up(database)
    taken = await asyncio.gather(*(_post(database, settings, each) for each in messages))
    return sum(taken)


async def _take_up(database: Database) -> list[Message]:
    due = (
        select(AlertPost.id)
        .where(AlertPost.ended_at.is_(None), AlertPost.due_at <= func.now())
        .order_by(AlertPost.due_at)
        .limit(AT_ONCE)
        .with_for_update(skip_locked=True)
        .cte("due")
        .prefix_with("MATERIALIZED")
    )
    async with database.transaction() as session:
        found = await session.scalars(
            update(AlertPost)
            .where(AlertPost.id == due.c.id)
            .values(attempts=AlertPost.attempts + 1, due_at=func.now() + _back_off())
            .returning(AlertPost)
            .execution_options(synchronize_session=False)
        )
        return await _with_alerts(session, found.all())


async def _with_alerts(session: AsyncSession, posts: Sequence[AlertPost]) -> list[Message]:
    wanted = [each.alert_id for each in posts]
    found = await session.scalars(select(Alert).where(Alert.id == func.any(wanted)))
    alerts = {each.id: each for each in found}
    return [Message(each, alerts[each.alert_id]) for each in posts]


def _back_off() -> ColumnElement[timedelta]:
    """Twice as long after each try, up to an hour."""
    doubled = func.power(2, func.least(AlertPost.attempts, 20))
    seconds = func.least(FIRST_RETRY.total_seconds() * doubled, LAST_RETRY.total_seconds())
    return func.make_interval(0, 0, 0, 0, 0, 0, seconds)


async def _post(database: Database, settings: Settings, message: Message) -> bool:
    try:
        await _send(settings, message)
    except (FetchFailed, OwnLimitReached) as error:
        await _note_failure(database, message, sentence(error))
        return False
    await _end(database, message, error=None)
    return True


async def _send(settings: Settings, message: Message) -> None:
    body, timestamp = message.body, int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"ScraperSky/{__version__}",
        "Idempotency-Key": str(message.post.id),
        **signing_headers(settings.alert_webhook_secret, timestamp, body),
    }
    await post(
        settings.alert_webhook_url,
        body,
        headers=headers,
        rules=AddressRules.for_webhooks(settings),
        timeout_seconds=min(LONGEST_SECONDS, settings.fetch_timeout_seconds),
        ca_file=settings.fetch_ca_file,
    )


async def _note_failure(database: Database, message: Message, why: str) -> None:
    log.warning("alert not posted", rule=message.alert.rule, error=why)
    old = AlertPost.created_at < func.now() - GIVE_UP_AFTER
    given_up = case((old, func.now()), else_=None)
    await _change(database, message, error=why, ended_at=given_up)


async def _end(database: Database, message: Message, *, error: str | None) -> None:
    await _change(database, message, error=error, ended_at=func.now())


async def _change(database: Database, message: Message, **values: Any) -> None:
    async with database.transaction() as session:
        changed = update(AlertPost).where(AlertPost.id == message.post.id).values(**values)
        await session.execute(changed.execution_options(synchronize_session=False))


CHORE = Chore(
    name="post_alerts",
    does="Post alerts to ALERT_WEBHOOK_URL, until they are taken.",
    every=POST_EVERY,
    run=post_due,
)
