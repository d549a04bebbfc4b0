"""Scan the served site in this process, which imports nothing of ours but the scraper.

python -m benchmarks.sitemaps_scan PORT prints what it found and what that cost, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from ipaddress import ip_network
from pathlib import Path
from time import perf_counter, process_time, thread_time

from benchmarks.sitemaps_documents import SITE
from scrapersky.scraper import (
    AddressRules,
    Analysis,
    Fetcher,
    ScanEvent,
    SitemapAnalyzer,
    SitemapDone,
    UrlsFound,
)

TICK_SECONDS = 0.001


@dataclass
class Scanned:
    urls: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    longest_hold_ms: float = 0.0
    """The most CPU time that the loop spent before a task that waits for its turn got it."""
    longest_wait_ms: float = 0.0
    """The same by the clock on the wall, with whatever else the machine did meanwhile."""
    outcome: str = ""
    problems: str = ""


async def scan(port: int) -> Scanned:
    found = Scanned()
    rules = AddressRules(
        (ip_network("127.0.0.0/8"),), frozenset({80, port}), {SITE: ("127.0.0.1", port)}
    )
    watch = asyncio.create_task(_watch(found))
    started, cpu = perf_counter(), process_time()
    async with Fetcher(user_agent="benchmark", rules=rules) as fetch:
        events = SitemapAnalyzer(fetch).analyze_domain_sitemaps(
            f"http://{SITE}", max_urls=2_000_000
        )
        async for event in events:
            _note(event, found)
    found.seconds, found.cpu_seconds = perf_counter() - started, process_time() - cpu
    watch.cancel()
    found.peak_mb = peak_mb()
    return found


def _note(event: ScanEvent, found: Scanned) -> None:
    if isinstance(event, UrlsFound):
        found.urls += sum(1 for entry in event.entries if entry.loc and entry.lastmod)
    elif isinstance(event, SitemapDone):
        found.problems += event.reason or ""
    elif isinstance(event, Analysis):
        found.outcome = event.outcome


async def _watch(found: Scanned) -> None:
    while True:
        before, cpu = perf_counter(), thread_time()
        await asyncio.sleep(TICK_SECONDS)
        waited, held = perf_counter() - before - TICK_SECONDS, thread_time() - cpu
        found.longest_wait_ms = max(found.longest_wait_ms, waited * 1000)
        found.longest_hold_ms = max(found.longest_hold_ms, held * 1000)


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(kilobytes) / 1024


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(scan(int(sys.argv[1]))))))
