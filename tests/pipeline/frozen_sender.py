"""A process that freezes itself between taking its turn at a host and sending the request.

python -m tests.pipeline.frozen_sender URL PORT DEAD_AFTER_SECONDS says what it does, line by line.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from scrapersky.db.session import Database
from scrapersky.pipeline import workers
from scrapersky.pipeline.hosts import HostGate
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.scraper.http.addresses import AddressRules
from scrapersky.scraper.http.fetch import Fetcher
from tests.conftest import make_settings


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


class TellingGate(HostGate):
    async def _reserve_slot(self, host: str, *, exempt: bool) -> Any:
        say("asks")
        return await super()._reserve_slot(host, exempt=exempt)


async def main(url: str, port: int, dead_after: float) -> None:
    settings = make_settings(
        url,
        host_concurrency=1,
        worker_dead_after_seconds=dead_after,
        fetch_allow_ports=str(port),
    )
    database, worker = Database(url, pool_size=2), WorkerIdentity()
    async with database.transaction() as session:
        await workers.record_heartbeat(session, worker)
    frozen = False

    async def look_up(name: str) -> list[str]:
        """Between the turn and the connection: real names are looked up here."""
        nonlocal frozen
        if not frozen:
            frozen = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return ["127.0.0.1"]

    fetcher = Fetcher(
        user_agent="test",
        rules=AddressRules.from_settings(settings),
        gate=TellingGate(database, settings, worker_id=worker.id),
        lookup=look_up,
    )
    async with fetcher as fetch:
        await fetch.get(f"http://bakery.example:{port}/")
    say("done")
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
