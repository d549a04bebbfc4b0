"""The application context and the dependency that provides it to routes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from scrapersky.db.session import Database
from scrapersky.models import Actor
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings

if TYPE_CHECKING:
    from scrapersky.http.tokens import TokenVerifier


@dataclass(frozen=True)
class AppContext:
    settings: Settings
    database: Database
    wakeups: Wakeups
    stages: tuple[AnyStage, ...]
    scheduler: Scheduler | None
    """None if this process only serves requests."""
    system: Actor
    """Actor of the schedulers, and of every caller in open mode."""
    tokens: TokenVerifier | None
    """None if only API keys are accepted."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set on shutdown; long-lived responses must close their connections."""


def get_context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


Context = Annotated[AppContext, Depends(get_context)]
