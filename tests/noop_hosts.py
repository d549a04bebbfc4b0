"""The no-op stage with a host per row, to test claims by host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import SmallInteger
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from scrapersky.db.base import Base, uuid7
from scrapersky.db.session import Database
from scrapersky.pipeline.queue import declare_queue
from scrapersky.pipeline.stage import Stage, Tools
from scrapersky.settings import Pace
from tests.noop import WORDS


@declare_queue("status", words=WORDS, order=("host", "priority"))
class HostedRow(Base):
    __tablename__ = "noop_rows_of_hosts"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid7)
    host: Mapped[str] = mapped_column(server_default="")
    priority: Mapped[int] = mapped_column(SmallInteger, server_default="5")
    effects: Mapped[int] = mapped_column(server_default="0")

    if TYPE_CHECKING:
        status: Mapped[str]


@dataclass(frozen=True)
class Item:
    row_id: UUID
    host: str
    priority: int


def read(row: HostedRow) -> Item:
    return Item(row.id, row.host, row.priority)


async def work(item: Item, tools: Tools) -> Item:
    return item


async def store(session: AsyncSession, row: HostedRow, result: Item) -> None:
    assert row.id == result.row_id
    row.effects = 1


HOSTED = Stage(
    name="hosted",
    does="Nothing, for hosts.",
    model=HostedRow,
    status="status",
    words=WORDS,
    prefix="HOSTED",
    pace=Pace(batch_size=10, concurrency=8),
    read=read,
    work=work,
    store=store,
    host="host",
    priority="priority",
)


async def prepare(database: Database) -> None:
    async with database.engine.begin() as connection:
        await connection.run_sync(HostedRow.__table__.create)  # type: ignore[attr-defined]
