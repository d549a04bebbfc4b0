"""What a request can reach: the application's parts, and a session of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import Database
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings


@dataclass(frozen=True)
class AppContext:
    """The parts of a running application."""

    settings: Settings
    database: Database
    wakeups: Wakeups
    stages: tuple[AnyStage, ...]
    scheduler: Scheduler | None
    """None when this process only takes requests."""


def get_context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


Context = Annotated[AppContext, Depends(get_context)]


async def get_transaction(context: Context) -> AsyncIterator[AsyncSession]:
    async with context.database.transaction() as session:
        yield session


async def get_reading(context: Context) -> AsyncIterator[AsyncSession]:
    async with context.database.reading() as session:
        yield session


# With the default scope the commit would come after the answer has left, and a commit that fails
# would have been answered as a success.
Transaction = Annotated[AsyncSession, Depends(get_transaction, scope="function")]
Reading = Annotated[AsyncSession, Depends(get_reading, scope="function")]
