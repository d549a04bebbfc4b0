"""One measurement in a process of its own: `python -m benchmarks.child ACT TOOL=URL…`.

Prints one line of JSON. Times are CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import uvloop

from benchmarks.contender import Contender
from benchmarks.contenders import Name, contender
from benchmarks.cpu import parent_of, server_cpu_seconds

WARM_UP_DRAIN = 500
"""Jobs worked before the clock starts: a worker in service has its statements prepared."""
WARM_UP_SINGLE = 10
SETTLE_SECONDS = 2.0
"""Until a fresh worker listens and has looked at its empty queue."""
GAP_SECONDS = (0.03, 0.07)
"""Between two single jobs of different tools; the same tool gets one about six times a second, so
its worker has been idle for a while."""


async def prepare(tools: Mapping[Name, str], jobs: int) -> None:
    for name, url in tools.items():
        await contender(name, url).prepare()


async def drain(tools: Mapping[Name, str], jobs: int) -> dict[str, float]:
    ((name, url),) = tools.items()
    tool = contender(name, url)
    async with tool.opened():
        await tool.enqueue_many(WARM_UP_DRAIN)
        await tool.drain(WARM_UP_DRAIN)
        await tool.enqueue_many(jobs)
        postmaster = await _calm(url)
        before = _clocks(postmaster)
        await tool.drain(jobs)
        after = _clocks(postmaster)
        ended = await tool.ended()
    assert ended == WARM_UP_DRAIN + jobs, f"{name}: {ended} jobs ended"
    seconds, worker, server = (late - early for early, late in zip(before, after, strict=True))
    return {"jobs": jobs, "seconds": seconds, "worker_cpu": worker, "server_cpu": server}


async def _calm(url: str) -> int:
    """Statistics as an import would leave them; no debt of the loading falls into the measuring.
    Returns the server's process."""
    connection = await asyncpg.connect(url)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")
    postmaster = parent_of(await connection.fetchval("SELECT pg_backend_pid()"))
    await connection.close()
    gc.collect()
    gc.freeze()
    return postmaster


def _clocks(postmaster: int) -> tuple[float, float, float]:
    return time.monotonic(), time.process_time(), server_cpu_seconds(postmaster)


async def work(tools: Mapping[Name, str], jobs: int) -> dict[str, int]:
    """Be a worker until standard input ends, then tell when each job began."""
    ((name, url),) = tools.items()
    tool = contender(name, url)
    starts: dict[str, int] = {}

    def note(job_id: str) -> None:
        starts[job_id] = time.monotonic_ns()

    async with tool.opened(), tool.working(note):
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    return starts


async def enqueue(tools: Mapping[Name, str], jobs: int) -> dict[Name, dict[str, int]]:
    """Single jobs for each tool in turn; tells when each was handed in."""
    async with AsyncExitStack() as stack:
        opened = {name: contender(name, url) for name, url in tools.items()}
        for each in opened.values():
            await stack.enter_async_context(each.opened())
        await asyncio.sleep(SETTLE_SECONDS)
        await _take_turns(opened, WARM_UP_SINGLE)
        return await _take_turns(opened, jobs)


async def _take_turns(opened: Mapping[Name, Contender], rounds: int) -> dict[Name, dict[str, int]]:
    handed_in: dict[Name, dict[str, int]] = {name: {} for name in opened}
    for _ in range(rounds):
        for name in random.sample(list(opened), len(opened)):
            before = time.monotonic_ns()
            handed_in[name][await opened[name].enqueue_one()] = before
            await asyncio.sleep(random.uniform(*GAP_SECONDS))
    return handed_in


ACTS = {"prepare": prepare, "drain": drain, "work": work, "enqueue": enqueue}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("act", choices=ACTS)
    parser.add_argument("tools", nargs="+", metavar="TOOL=URL")
    parser.add_argument("--jobs", type=int, default=0)
    arguments = parser.parse_args()
    pairs = (each.partition("=") for each in arguments.tools)
    tools = {Name(name): url for name, _, url in pairs}
    act: Any = ACTS[arguments.act]
    # Everybody gets the fastest event loop there is.
    print(json.dumps(uvloop.run(act(tools, arguments.jobs))))


if __name__ == "__main__":
    main()
