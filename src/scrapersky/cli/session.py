"""What nearly every command begins with: settings, logs, a loop, the database and who acts."""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import uvloop
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.service import system_actor
from scrapersky.cli.exits import Exit
from scrapersky.cli.output import note
from scrapersky.cli.settings_in_force import load_checked_settings
from scrapersky.cli.signals import stopping_on_signals
from scrapersky.db.opening import open_database
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.models import Actor, Via, record
from scrapersky.models.audit import has_changed_silently
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True)
class Opened:
    """What a command works with."""

    settings: Settings
    database: Database
    actor: Actor


Command = Callable[[Opened], Awaitable[int | None]]
Step = Callable[[AsyncSession, Opened], Awaitable[T]]


def settings_for_people() -> Settings:
    """Somebody looks at the screen: logs stay quiet unless they were asked for."""
    settings = load_checked_settings()
    level = settings.log_level if _logs_were_asked_for(settings) else "warning"
    configure_logging(level=level, style=settings.log_format)
    quieten("asyncio", settings)
    return settings


def quieten(logger: str, settings: Settings) -> None:
    """For what the screen shows anyhow: its log lines, with tracebacks, would run through it."""
    if not _logs_were_asked_for(settings):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def _logs_were_asked_for(settings: Settings) -> bool:
    return bool(settings.environ.get("LOG_LEVEL", "").strip())


def settings_for_service() -> Settings:
    """Nobody looks, or looks at the logs."""
    settings = load_checked_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    return settings


def run(main: Coroutine[Any, Any, int | None]) -> int:
    """Run to the end; Ctrl-C and `kill` cancel it, which clears up on its way out."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_interruptible(main)) or Exit.OK


def run_service(main: Coroutine[Any, Any, None]) -> int:
    """Run until it is stopped; it minds the signals itself, for being stopped is its usual end."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, suppress(CancelledError):
        runner.run(main)
    return Exit.OK


async def _interruptible(main: Coroutine[Any, Any, int | None]) -> int | None:
    task = asyncio.create_task(main)
    with stopping_on_signals(task.cancel):
        try:
            return await task
        except CancelledError:
            return Exit.INTERRUPTED


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Opened]:
    """The database at the right revision; what is enqueued in it wakes the workers."""
    async with open_database(settings, say=note) as database:
        wakeups = Wakeups(database)
        try:
            async with database.reading() as session:
                actor = await system_actor(session, settings)
            yield Opened(settings, database, replace(actor, via=Via.CLI))
        finally:
            await wakeups.close()


def run_opened(command: Command) -> int:
    """Open everything, run the command on it, close everything."""
    settings = settings_for_people()

    async def main() -> int | None:
        async with opened(settings) as everything:
            return await command(everything)

    return run(main())


def run_in_transaction(step: Step[T], show: Callable[[T], int | None]) -> int:
    """The same for a command that is one transaction; what came of it is shown once it is sure."""

    async def command(everything: Opened) -> int | None:
        async with everything.database.transaction() as session:
            result = await step(session, everything)
            await _record_silent(session, everything.actor, step)
        return show(result)

    return run_opened(command)


async def _record_silent(session: AsyncSession, actor: Actor, step: Step[Any]) -> None:
    """A command whose service noted nothing is in the audit log all the same, in plainer words."""
    await session.flush()
    if has_changed_silently(session):
        group = step.__module__.rpartition(".")[2]
        command = step.__qualname__.partition(".")[0]
        record(session, actor, f"{group}.{command}")
