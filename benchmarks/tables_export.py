"""One export in a process of its own.

python -m benchmarks.tables_export URL NEWEST prints seconds, bytes and the most memory it took, in
megabytes above what it had before, as JSON. NEWEST is how many of the newest rows to export.
"""

from __future__ import annotations

import json
import resource
import sys
from time import perf_counter

import uvloop
from sqlalchemy import select

from benchmarks.tables_rows import actor_of
from scrapersky.contacts.listing import EXPORT
from scrapersky.db.session import Database
from scrapersky.lists.exports import ExportRequest, stream_export
from scrapersky.models import Contact


async def export(url: str, newest: int) -> dict[str, float]:
    database = Database(url)
    actor = await actor_of(database)
    async with database.reading() as session:
        by_age = select(Contact.created_at).order_by(Contact.created_at.desc())
        since = await session.scalar(by_age.offset(newest - 1).limit(1))
    before = _peak_mb()
    started, size = perf_counter(), 0
    async for piece in await stream_export(
        database, EXPORT, actor, ExportRequest({"created_since": since})
    ):
        size += len(piece)
    seconds = perf_counter() - started
    await database.close()
    return {"seconds": seconds, "bytes": size, "mb": _peak_mb() - before, "peak_mb": _peak_mb()}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(uvloop.run(export(sys.argv[1], int(sys.argv[2])))))
