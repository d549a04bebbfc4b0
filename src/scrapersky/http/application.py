"""The application's shared parts, and the dependency that gives them to a route."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from scrapersky.db.session import Database
from scrapersky.http.credentials import TokenVerifier
from scrapersky.models import Actor
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings


@dataclass(frozen=True)
class AppContext:
    settings: Settings
    database: Database
    wakeups: Wakeups
    stages: tuple[AnyStage, ...]
    scheduler: Scheduler | None
    """None when this process only takes requests."""
    system: Actor
    """Whom the schedulers act for, and everybody in open mode."""
    tokens: TokenVerifier | None
    """None when only API keys are accepted."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server was told to stop: whoever holds a connection open lets go of it."""


def get_context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


Context = Annotated[AppContext, Depends(get_context)]
