"""A stage that does nothing, to test the engine without a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, uuid7
from scrapersky.pipeline.queue import StatusNames, declare_queue
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.settings import Pace

WORDS = StatusNames(queued="queued", processing="processing", done="done", failed="failed")


@declare_queue("status", words=WORDS)
class NoopRow(Base):
    __tablename__ = "noop_rows"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    effects: Mapped[int] = mapped_column(server_default="0")

    if TYPE_CHECKING:
        status: Mapped[str]


def read(row: NoopRow) -> UUID:
    return row.id


async def work(item: UUID, tools: Tools) -> UUID:
    return item


async def store(session: AsyncSession, row: NoopRow, result: UUID) -> None:
    assert row.id == result
    row.effects = 1


NOOP = Stage(
    name="noop",
    does="Nothing.",
    model=NoopRow,
    status="status",
    words=WORDS,
    prefix="NOOP",
    pace=Pace(batch_size=10, concurrency=8),
    read=read,
    work=work,
    store=store,
)
