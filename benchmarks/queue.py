"""Our loop beside pgqueuer and procrastinate: `make bench-queue`.

Jobs per second of jobs that do nothing, and the time from handing a job in to its start, on one
embedded server in one run. Ends with 1 when a promise is not kept. See README.md beside this.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.contenders import WAITING, Name
from benchmarks.figures import Drain, Figures
from benchmarks.processes import Server, child, temporary_server, workers
from scrapersky.logging import configure_logging

JOBS = 20_000
SLOW_SHARE = 10
"""procrastinate gets a tenth of the jobs: it would need minutes for all of them."""
ROUNDS = 3
SINGLES = 200

TITLES = ("", "jobs/s", "rounds", "ours is", "CPU/job", "latency", "p95")
"""CPU of the worker and of the server; latency is the median."""

console = Console(highlight=False, width=max(Console().width, 110))


def main() -> int:
    arguments = _arguments()
    configure_logging(level="warning")
    # A run that is told to end still stops its server and removes its folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with temporary_server() as server:
        figures = measure(server, arguments.jobs, arguments.rounds, arguments.singles)
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures.as_json(), indent=2))
    return 0 if all(each.met for each in figures.requirements()) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.queue", description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS, help="drained in each round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of draining, interleaved")
    parser.add_argument("--singles", type=int, default=SINGLES, help="jobs for the latency")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    return parser.parse_args()


def measure(server: Server, jobs: int, rounds: int, singles: int) -> Figures:
    figures = Figures(server=server.facts())
    assert figures.server["fsync"] == "on"
    _prepare(server)
    for number in range(rounds):
        console.print(f"draining, round {number + 1} of {rounds} …")
        _drain_all(server, figures, _rotated(list(Name), number), jobs)
    console.print(f"{singles} single jobs for each waiting worker …")
    figures.latencies_ms = _latencies(server, singles)
    return figures


def _prepare(server: Server) -> None:
    """One template per tool, so that every round begins on a fresh database."""
    for name in Name:
        server.execute(f"CREATE DATABASE {name}")
        child("prepare", {name: server.url(name)})


def _drain_all(server: Server, figures: Figures, names: Sequence[Name], jobs: int) -> None:
    for name in names:
        count = jobs // SLOW_SHARE if name is Name.PROCRASTINATE else jobs
        with server.copy_of(name) as url:
            drained = Drain(**child("drain", {name: url}, jobs=count))
        figures.drains.setdefault(name, []).append(drained)


def _latencies(server: Server, singles: int) -> dict[Name, list[float]]:
    """All workers wait at once and get their jobs in turn: whatever else the machine does
    meanwhile, it does to all of them."""
    with ExitStack() as stack:
        urls = {name: stack.enter_context(server.copy_of(name)) for name in WAITING}
        with workers(urls) as starts:
            handed_in: Mapping[str, Mapping[str, int]] = child("enqueue", urls, jobs=singles)
        return {
            name: [(starts[name][job] - since) / 1e6 for job, since in handed_in[name].items()]
            for name in WAITING
        }


def _rotated(names: list[Name], by: int) -> list[Name]:
    by %= len(names)
    return names[by:] + names[:by]


def show(figures: Figures) -> None:
    facts = ", ".join(f"{name} {value}" for name, value in figures.server.items())
    peers = ", ".join(f"{each} {version(each)}" for each in ("pgqueuer", "procrastinate"))
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    console.print(f"\nPostgreSQL: {facts}\n{peers}; {os.cpu_count()} cores, load {load}")
    console.print("Not the same work: see the README for what differs, to whose advantage.")
    console.print(_table(figures))
    for each in figures.requirements():
        console.print(f"{'PASS' if each.met else 'FAIL'}  {each.says}: {each.measured}")


def _table(figures: Figures) -> Table:
    table = Table()
    for title in TITLES:
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name in Name:
        table.add_row(name.replace("_", ", "), *_row(figures, name))
    return table


def _row(figures: Figures, name: Name) -> list[str]:
    rate = figures.throughput(name)
    low, high = figures.spread(name)
    waited = name in figures.latencies_ms
    return [
        f"{rate:,.0f}",
        f"{low:,.0f} – {high:,.0f}",
        f"{figures.throughput(Name.OURS) / rate:.2f} ×",
        f"{figures.worker_cpu(name):,.0f} + {figures.server_cpu(name):,.0f} µs",
        f"{figures.latency(name):.2f} ms" if waited else "",
        f"{figures.latency_p95(name):.2f} ms" if waited else "",
    ]


if __name__ == "__main__":
    sys.exit(main())
