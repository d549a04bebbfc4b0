"""Make the visits a scan has queued, some at a time, and pass on what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from scrapersky.scraper.events import Event
from scrapersky.scraper.responses import Fetches
from scrapersky.scraper.scan import Scan, Target
from scrapersky.scraper.visit import Visit

WAITING_EVENTS = 2
"""Told and not yet taken; a slow listener makes the visits wait."""


class _Ended:
    """A visit is over, by an error of ours if there is one."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


async def make_visits(scan: Scan, fetch: Fetches, *, at_once: int) -> AsyncGenerator[Event, None]:
    """Read everything queued, children included; events of one sitemap keep their order."""
    events: asyncio.Queue[Event | _Ended] = asyncio.Queue(WAITING_EVENTS)
    tasks: set[asyncio.Task[None]] = set()
    running = 0
    try:
        while True:
            scan.stop_if_full()
            while scan.queue and running < at_once:
                tasks.add(asyncio.create_task(_visit(scan.queue.popleft(), scan, fetch, events)))
                running += 1
            if not running:
                return
            event = await events.get()
            if isinstance(event, _Ended):
                running -= 1
                if event.error is not None:
                    raise event.error
                continue
            scan.note(event)
            yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _visit(
    target: Target, scan: Scan, fetch: Fetches, events: asyncio.Queue[Event | _Ended]
) -> None:
    try:
        await Visit(target, scan, fetch, events.put).make()
    except Exception as error:
        await events.put(_Ended(error))
    else:
        await events.put(_Ended())
