"""Run a command: load settings, configure logging, open the database and resolve the actor."""

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

from scrapersky.auth.service import get_system_actor
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.output import note
from scrapersky.cli.settings_check import load_checked_settings
from scrapersky.cli.signals import handle_stop_signals
from scrapersky.db.connection import open_database
from scrapersky.db.session import Database
from scrapersky.logging import configure_logging
from scrapersky.models import Actor, RequestChannel, record
from scrapersky.models.audit import has_unrecorded_changes
from scrapersky.pipeline.wake import Wakeups
from scrapersky.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True)
class CommandContext:
    """Resources of a command."""

    settings: Settings
    database: Database
    actor: Actor


Command = Callable[[CommandContext], Awaitable[int | None]]
Step = Callable[[AsyncSession, CommandContext], Awaitable[T]]


def load_interactive_settings() -> Settings:
    """Load settings for an interactive command. Logs are limited to warnings unless LOG_LEVEL is
    set.
    """
    settings = load_checked_settings()
    level = settings.log_level if _has_log_level(settings) else "warning"
    configure_logging(level=level, style=settings.log_format)
    silence_logger("asyncio", settings)
    return settings


def silence_logger(logger: str, settings: Settings) -> None:
    """Silence a logger whose messages the display already shows, unless LOG_LEVEL is set."""
    if not _has_log_level(settings):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def _has_log_level(settings: Settings) -> bool:
    return bool(settings.environ.get("LOG_LEVEL", "").strip())


def load_service_settings() -> Settings:
    """Load settings for a service, whose output is its log."""
    settings = load_checked_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    return settings


def run(main: Coroutine[Any, Any, int | None]) -> int:
    """Run a command. Ctrl-C and `kill` cancel it, so that it can clean up."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run_interruptible(main)) or ExitCode.OK


def run_service(main: Coroutine[Any, Any, None]) -> int:
    """Run a service until it is stopped. It handles signals itself: a stop is its normal end."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, suppress(CancelledError):
        runner.run(main)
    return ExitCode.OK


async def _run_interruptible(main: Coroutine[Any, Any, int | None]) -> int | None:
    task = asyncio.create_task(main)
    with handle_stop_signals(task.cancel):
        try:
            return await task
        except CancelledError:
            return ExitCode.INTERRUPTED


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[CommandContext]:
    """Open the database at the expected revision, with wake-ups for workers on enqueue."""
    async with open_database(settings, report=note) as database:
        wakeups = Wakeups(database)
        try:
            async with database.reading() as session:
                actor = await get_system_actor(session, settings)
            yield CommandContext(settings, database, replace(actor, via=RequestChannel.CLI))
        finally:
            await wakeups.close()


def run_with_context(command: Command) -> int:
    """Run a command with its resources open."""
    settings = load_interactive_settings()

    async def main() -> int | None:
        async with open_context(settings) as context:
            return await command(context)

    return run(main())


def run_in_transaction(step: Step[T], show: Callable[[T], int | None]) -> int:
    """Run a step in one transaction and show its result after the commit."""

    async def command(context: CommandContext) -> int | None:
        async with context.database.transaction() as session:
            result = await step(session, context)
            await _record_unaudited(session, context.actor, step)
        return show(result)

    return run_with_context(command)


async def _record_unaudited(session: AsyncSession, actor: Actor, step: Step[Any]) -> None:
    """Add a generic audit log entry for changes whose service recorded none."""
    await session.flush()
    if has_unrecorded_changes(session):
        group = step.__module__.rpartition(".")[2]
        command = step.__qualname__.partition(".")[0]
        record(session, actor, f"{group}.{command}")
