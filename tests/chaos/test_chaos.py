"""Many faults at the same time while scans and searches run: nothing is lost, nothing is done
twice, and every cent spent is in the ledger.

Without a duration only the acts that end by themselves are performed, each once. `make chaos
MINUTES=20` performs all of them again and again; `CHAOS_SEED` repeats a schedule.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from scrapersky.db.embedded import EmbeddedPostgres, ServerAddress
from scrapersky.db.migrate import upgrade
from scrapersky.db.session import Database
from scrapersky.stages import STAGES
from scrapersky.testing import PlacesProvider
from tests.chaos.audit import Audit
from tests.chaos.clients import Clients
from tests.chaos.mischief import DEAD_AFTER_SECONDS, Crew, Mischief
from tests.chaos.receiver import Receiver, build_receiver
from tests.chaos.sites import HOST_LIMIT, Site, build_sites
from tests.chaos.towns import CAP_USD, build_towns, disturb, environ_of, selling
from tests.effort import CHAOS_SECONDS
from tests.fake_web import FakeWeb
from tests.processes import HASTY, free_port

SITES = 16 if CHAOS_SECONDS else 6
CLIENTS = 3
SEED = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
PATIENCE_SECONDS = 900
PLENTY_USD = Decimal(100_000)


@pytest.fixture
def own_server() -> Iterator[tuple[EmbeddedPostgres, ServerAddress]]:
    """A server that may be crashed without disturbing other tests."""
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-chaos-"))
    folder.chmod(0o711)
    postgres = EmbeddedPostgres(folder / "data")
    address = postgres.acquire()
    yield postgres, address
    postgres.release()
    postgres.destroy()
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def opened(address: ServerAddress) -> AsyncIterator[Database]:
    database = Database(address.url, pool_size=5)
    await upgrade(database)
    yield database
    await database.close()


@pytest.mark.timeout(CHAOS_SECONDS + PATIENCE_SECONDS + 1200)
async def test_every_accepted_request_ends_and_every_effect_happens_once_whatever_crashes(
    own_server: tuple[EmbeddedPostgres, ServerAddress], tmp_path: Path
) -> None:
    postgres, address = own_server
    trouble = asyncio.Event()
    trouble.set()
    towns = build_towns()
    async with FakeWeb() as web, selling(towns) as provider, opened(address) as database:
        audit = Audit(database, f"seed {SEED}")
        sites = build_sites(web, SITES, random.Random(SEED), faulty=trouble.is_set)
        receiver = build_receiver(web, random.Random(SEED), faulty=trouble.is_set)
        environ = {**_environ(address), **environ_of(provider), **web.environ}
        async with Crew(environ, address, tmp_path, port=free_port(), audit=audit) as crew:
            clients = Clients(
                crew.client,
                [each.host.name for each in sites],
                towns,
                random.Random(SEED),
                disturb=partial(disturb, provider, random.Random(SEED)),
                audit=audit,
            )
            await clients.listen(receiver.url)
            mischief = Mischief(crew, postgres, database, sites, audit)
            async with asyncio.TaskGroup() as group:
                for _ in range(CLIENTS):
                    group.create_task(clients.keep_asking())
                await mischief.go_on_for(CHAOS_SECONDS, random.Random(SEED))
                clients.stop.set()
            trouble.clear()
            provider.clear_failures()
            with audit.collecting("money"):
                await audit.money(provider, cap=CAP_USD)
            await crew.replace_the_gone()
            await clients.make_all_end(
                lambda: _nothing_left(database), budget_usd=PLENTY_USD, seconds=PATIENCE_SECONDS
            )
        audit.politeness(sites)
        for name, check in {
            "dead letters": audit.dead_letters(),
            "jobs": audit.jobs(clients.accepted),
            "scans": audit.scans(sites),
            "searches": audit.searches(towns),
            "money": audit.money(provider, cap=PLENTY_USD),
            "deliveries": audit.deliveries(receiver),
        }.items():
            with audit.collecting(name):
                await check
        audit.said = _told(mischief, clients, sites, provider, receiver, audit)
        audit.conclude()


def _environ(address: ServerAddress) -> dict[str, str]:
    return {
        **HASTY,
        "DATABASE_URL": address.url,
        "SITEMAP_SCHEDULER_CONCURRENCY": "4",
        "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "8",
        "HOST_CONCURRENCY": str(HOST_LIMIT),
        "WORKER_DEAD_AFTER_SECONDS": str(DEAD_AFTER_SECONDS),
        "ROBOTS_TIMEOUT_SECONDS": "3",
        "LOG_LEVEL": "error",
    }


def _told(
    mischief: Mischief,
    clients: Clients,
    sites: Sequence[Site],
    provider: PlacesProvider,
    receiver: Receiver,
    audit: Audit,
) -> str:
    acts = ", ".join(f"{name} {count}×" for name, count in sorted(mischief.done.items()))
    asked = sum(each.asked for each in sites)
    said = (
        f"seed {SEED}: {acts}; {len(clients.scans)} scans and {len(clients.searches)} searches "
        f"accepted, {clients.unanswered} requests asked again, {asked} requests at the sites, "
        f"{provider.bill.paid} paid ones of {len(provider.bill.requests)} at the provider for "
        f"{provider.bill.usd} USD, {len(receiver.taken)} events told, "
        f"{receiver.taken.total() - len(receiver.taken)} of them again, "
        f"dead letters: {dict(audit.letters)}"
    )
    print(f"\n{said}", flush=True)  # noqa: T201 (the long run's figures)
    return said


async def _nothing_left(database: Database) -> bool:
    """No stage has anything queued or in work."""
    count = 0
    async with database.reading() as session:
        for stage in STAGES:
            words = (stage.words.queued, stage.words.processing)
            held = select(func.count()).where(stage.queue.status.in_(words))
            count += int(await session.scalar(held) or 0)
    return not count
