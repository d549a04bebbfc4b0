"""What was measured, what it comes to, and whether that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from benchmarks.contenders import Name

AT_LEAST_PGQUEUER = 1.5
AT_LEAST_PROCRASTINATE = 20.0
"""Times their throughput, at batch 100."""


@dataclass(frozen=True)
class Drain:
    """One queue drained once."""

    jobs: int
    seconds: float
    worker_cpu: float
    server_cpu: float
    """Seconds; other people's processes disturb these less than the clock on the wall."""

    @property
    def per_second(self) -> float:
        return self.jobs / self.seconds

    @property
    def worker_microseconds(self) -> float:
        return self.worker_cpu / self.jobs * 1e6

    @property
    def server_microseconds(self) -> float:
        return self.server_cpu / self.jobs * 1e6


@dataclass(frozen=True)
class Requirement:
    """One sentence of the promise, and what came out."""

    says: str
    measured: str
    met: bool


@dataclass
class Figures:
    server: dict[str, str] = field(default_factory=dict)
    drains: dict[Name, list[Drain]] = field(default_factory=dict)
    latencies_ms: dict[Name, list[float]] = field(default_factory=dict)

    def throughput(self, name: Name) -> float:
        return median(each.per_second for each in self.drains[name])

    def spread(self, name: Name) -> tuple[float, float]:
        rates = [each.per_second for each in self.drains[name]]
        return min(rates), max(rates)

    def worker_cpu(self, name: Name) -> float:
        return median(each.worker_microseconds for each in self.drains[name])

    def server_cpu(self, name: Name) -> float:
        return median(each.server_microseconds for each in self.drains[name])

    def latency(self, name: Name) -> float:
        return median(self.latencies_ms[name])

    def latency_p95(self, name: Name) -> float:
        return quantiles(self.latencies_ms[name], n=20)[-1]

    def requirements(self) -> Sequence[Requirement]:
        return (
            self._faster_than(Name.PGQUEUER, AT_LEAST_PGQUEUER),
            self._faster_than(Name.PROCRASTINATE, AT_LEAST_PROCRASTINATE),
            self._not_later_than(Name.PGQUEUER),
            self._not_later_than(Name.PROCRASTINATE),
        )

    def _faster_than(self, other: Name, times: float) -> Requirement:
        ratio = self.throughput(Name.OURS) / self.throughput(other)
        says = f"throughput at least {times:g} × {other} at batch 100"
        return Requirement(says, f"{ratio:.2f} ×", ratio >= times)

    def _not_later_than(self, other: Name) -> Requirement:
        ours, theirs = self.latency(Name.OURS), self.latency(other)
        says = f"median latency not above {other}'s"
        return Requirement(says, f"{ours:.2f} ms against {theirs:.2f} ms", ours <= theirs)

    def as_json(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "throughput": {
                name: {
                    "jobs_per_second": self.throughput(name),
                    "rounds": [each.per_second for each in drains],
                    "worker_cpu_microseconds_per_job": self.worker_cpu(name),
                    "server_cpu_microseconds_per_job": self.server_cpu(name),
                }
                for name, drains in self.drains.items()
            },
            "latency_ms": {
                name: {
                    "median": self.latency(name),
                    "p95": self.latency_p95(name),
                    "all": all_of_them,
                }
                for name, all_of_them in self.latencies_ms.items()
            },
            "requirements": [vars(each) for each in self.requirements()],
        }
