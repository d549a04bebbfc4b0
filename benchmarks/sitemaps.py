"""Our sitemap engine beside lxml and scrapy: `make bench-sitemaps`.

All figures of a line come from one run, in turns; CPU time where it is ours alone, as the machine
may be busy. Ends with 1 when a promise is not kept.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks import sitemaps_documents as documents
from benchmarks import sitemaps_lxml as lxml
from benchmarks.sitemaps_server import serving
from scrapersky.scraper.sitemaps.parse import UrlEntry, parse_sitemap

URL = f"http://{documents.SITE}/sitemap.xml"


@dataclass(frozen=True)
class Promise:
    """One sentence of the promise, and what came out."""

    says: str
    measured: str
    met: bool

    @classmethod
    def at_least(cls, says: str, times: float, ratio: float) -> Promise:
        return cls(f"{says}: at least {times:g} ×", f"{ratio:.1f} ×", ratio >= times)

    @classmethod
    def at_most(cls, says: str, limit: float, value: float, unit: str) -> Promise:
        return cls(f"{says}: at most {limit:g} {unit}", f"{value:.3g} {unit}", value <= limit)


# Parsing


def read_all(data: bytes) -> list[tuple[Any, ...]]:
    """Parse and look at every field of every entry."""
    return [
        (entry.loc, entry.lastmod, entry.changefreq, entry.priority)
        for entry in parse_sitemap(data, url=URL).entries
    ]


def parsing(rounds: int) -> Iterable[Promise]:
    plain, broken, extended = documents.plain(), documents.plain(broken=True), documents.extended()
    _check_results(plain, broken, extended)
    cpu = _in_turns(
        {
            "lxml iterparse, four fields": lambda: lxml.four_fields(plain),
            "ours, four fields": lambda: parse_sitemap(plain, url=URL),
            "ours, and every field looked at": lambda: read_all(plain),
            "lxml iterparse, broken": lambda: lxml.four_fields(broken, recover=True),
            "ours, broken": lambda: parse_sitemap(broken, url=URL),
            "lxml iterparse, everything": lambda: lxml.everything(extended),
            "ours, everything": lambda: list(parse_sitemap(extended, url=URL).entries),
        },
        rounds,
    )
    for name, seconds in cpu.items():
        print(f"  {name:34} {seconds * 1000:7.1f} ms")

    def ratio(theirs: str, ours: str) -> float:
        return cpu[f"lxml iterparse, {theirs}"] / cpu[f"ours, {ours}"]

    yield Promise.at_least("50,000 URLs, four fields", 5, ratio("four fields", "four fields"))
    looked_at = ratio("four fields", "and every field looked at")
    print(f"  with every field looked at, {looked_at:.1f} ×")
    yield Promise.at_least("with extensions, all made", 3, ratio("everything", "everything"))
    yield Promise.at_least("broken, and every URL exact", 2, ratio("broken", "broken"))


def _check_results(plain: bytes, broken: bytes, extended: bytes) -> None:
    """Speed is worth nothing where the answer is wrong."""
    assert [row[0] for row in read_all(plain)] == [row[0] for row in lxml.four_fields(plain)]
    pages = [documents.page(n, broken=True) for n in range(50_000)]
    assert [row[0] for row in read_all(broken)] == pages
    ours = parse_sitemap(extended, url=URL).entries
    for entry, row in zip(ours, lxml.everything(extended), strict=True):
        assert _as_row(entry) == row


def _as_row(entry: UrlEntry) -> tuple[Any, ...]:
    return (*entry[:4], list(entry.images), list(entry.videos), entry.news, list(entry.alternates))


def _in_turns(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    cpu: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            started = process_time()
            result = work()
            cpu[name].append(process_time() - started)
            del result
    return {name: median(each) for name, each in cpu.items()}


# A whole site over the network


def site(rounds: int) -> Iterable[Promise]:
    ours, theirs = [], []
    with serving("site") as port:
        for _ in range(rounds):
            ours.append(_child("sitemaps_scan", port))
            theirs.append(_child("sitemaps_scrapy", port))
    assert all(each["urls"] == 1_000_000 for each in (*ours, *theirs))
    for name, runs in (("ours", ours), ("scrapy", theirs)):
        print(f"  {name:34} {_of('seconds', runs):7.2f} s  {_of('peak_mb', runs):6.0f} MB")
    yield Promise.at_least(
        "1,000,000 URLs, scrapy's time", 5, _of("cpu_seconds", theirs) / _of("cpu_seconds", ours)
    )
    yield Promise.at_most("its peak", 80, max(each["peak_mb"] for each in ours), "MB")
    yield _hold("1,000,000 URLs", ours)


def large(rounds: int) -> Iterable[Promise]:
    with serving("large") as port:
        runs = [_child("sitemaps_scan", port) for _ in range(rounds)]
    yield Promise.at_most("50 MB in one file, peak", 80, _of("peak_mb", runs), "MB")
    yield _hold("50 MB in one file", runs)


def _hold(what: str, runs: list[dict[str, Any]]) -> Promise:
    waits = ", ".join(f"{each['longest_wait_ms']:.0f}" for each in runs)
    print(f"  {what}: longest waits by the wall clock: {waits} ms")
    return Promise.at_most(f"{what}, loop held", 50, _of("longest_hold_ms", runs), "ms")


def bombs(rounds: int) -> Iterable[Promise]:
    for name in ("bomb in a file", "bomb on the way", "laughs"):
        with serving(name) as port:
            runs = [_child("sitemaps_scan", port) for _ in range(rounds)]
        print(f"  {name}: {runs[0]['problems'] or 'read to its end'}")
        yield Promise.at_most(f"{name}, peak", 80, max(each["peak_mb"] for each in runs), "MB")
        yield Promise.at_most(f"{name}, CPU", 1, _of("cpu_seconds", runs), "s")


def _of(key: str, runs: list[dict[str, Any]]) -> float:
    return float(median(each[key] for each in runs))


def _child(module: str, port: int) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.{module}", str(port)]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


PARTS = {"parsing": parsing, "site": site, "large": large, "bombs": bombs}


def main() -> int:
    arguments = _arguments()
    peers = ", ".join(f"{each} {version(each)}" for each in ("lxml", "scrapy"))
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{peers}; {os.cpu_count()} cores, load {load}")
    kept: list[Promise] = []
    for name in arguments.parts or PARTS:
        print(name)
        for promise in PARTS[name](arguments.rounds):
            print(f"{'PASS' if promise.met else 'FAIL'}  {promise.says}: {promise.measured}")
            kept.append(promise)
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(each) for each in kept], indent=2))
    return 0 if all(each.met for each in kept) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sitemaps", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all of them by default")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came out there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
