"""Answers kept for repeated requests are forgotten when their time is over."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, func, select

from scrapersky.db.session import Database
from scrapersky.models import IdempotencyKey
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

FORGOTTEN_AT_ONCE = 5_000


async def forget_old_keys(database: Database, _settings: Settings) -> int:
    """A little at a time, so that no transaction is long."""
    forgotten = 0
    while True:
        async with database.transaction() as session:
            old = (
                select(IdempotencyKey.tenant_id, IdempotencyKey.key)
                .where(IdempotencyKey.expires_at < func.now())
                .limit(FORGOTTEN_AT_ONCE)
                .with_for_update(skip_locked=True)
                .subquery()
            )
            gone = await session.execute(
                delete(IdempotencyKey)
                .where(IdempotencyKey.tenant_id == old.c.tenant_id, IdempotencyKey.key == old.c.key)
                .execution_options(synchronize_session=False)
            )
        count = int(gone.rowcount)  # type: ignore[attr-defined]
        forgotten += count
        if count < FORGOTTEN_AT_ONCE:
            return forgotten


CHORE = Chore(
    name="forget_idempotency_keys",
    does="Delete answers that were kept for repeated requests and have had their time.",
    every=timedelta(minutes=10),
    run=forget_old_keys,
)
