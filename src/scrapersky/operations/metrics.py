"""The figures of the installation and of this process, in the words of Prometheus.

Of what is in the database every process tells the same, as gauges. What a process has counted is
its own and begins at nothing when it starts; these never go back, whatever retention deletes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from scrapersky import __version__
from scrapersky.db.session import Database
from scrapersky.errors import OwnLimit
from scrapersky.operations.alert_rules import RULES, Facts, judge
from scrapersky.operations.spending import Spent
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.figures import free_bytes
from scrapersky.pipeline.report import StageReport
from scrapersky.pipeline.tables import EventKind, Worker
from scrapersky.scraper.fetch_ends import FetchEnd

PREFIX = "scrapersky_"
PROCESS = " Counted by this process since it started; other processes count their own."
LAST_HOUR = " In the last hour, over all processes."
THIS_MONTH = " In the provider's month, over all tenants; it begins at nothing with the next."
WORDS = {
    EventKind.COMPLETED: "completed",
    EventKind.SKIPPED: "skipped",
    EventKind.RETRIED: "retried",
    EventKind.SNOOZED: "snoozed",
    EventKind.FAILED: "dead",
    EventKind.RESCUED: "rescued",
    EventKind.INTERRUPTED: "interrupted",
    EventKind.HANDED_BACK: "handed_back",
    EventKind.FENCED: "fenced",
}
"""How an attempt ended, as operators say it: a row that failed for good is dead."""

Figure = Callable[[StageReport], float | None]
OF_STAGES: Mapping[str, tuple[str, Figure]] = {
    "stage_queued_rows": ("Rows that wait, due or not.", lambda each: each.queued),
    "stage_due_rows": ("Rows that wait and whose time has come.", lambda each: each.due),
    "stage_oldest_due_seconds": (
        "How long the longest-waiting due row has been due; 0 when none is.",
        lambda each: each.oldest_due_seconds or 0,
    ),
    "stage_oldest_ready_seconds": (
        "The same of rows that could be worked now, and do not wait for their host's turn.",
        lambda each: each.oldest_ready_seconds or 0,
    ),
    "stage_in_flight_rows": ("Rows being worked.", lambda each: each.in_flight),
    "stage_overdue_rows": (
        "Rows being worked for longer than the stage's timeout, or without a lease.",
        lambda each: each.overdue,
    ),
    "stage_stuck_rows": (
        "Rows in processing past their lease or of a dead worker, which nobody will end.",
        lambda each: each.stuck,
    ),
    "stage_run_failing": (
        "1 when the last run failed in some process.",
        lambda each: each.failing,
    ),
    "stage_open_dead_letters": ("Rows given up that nobody dealt with.", lambda e: e.dead_letters),
    "stage_paused": ("1 when an operator has paused it.", lambda each: each.paused),
    "stage_held_back": (
        "1 when it claims less or nothing because of what waits behind it.",
        lambda each: each.held_back is not None,
    ),
    "stage_consumers": ("Live processes that work the stage.", lambda each: each.consumers),
    "stage_last_tick_seconds": (
        "When a process last ticked the stage, as a Unix time.",
        lambda each: each.last_tick.timestamp() if each.last_tick else None,
    ),
}


@dataclass(frozen=True, eq=False)
class Everything(Collector):
    """All figures at one moment."""

    facts: Facts
    database: Database
    engine: Engine | None
    """None where this process works no queue."""
    spent: Sequence[Spent] = ()
    installation_cap_usd: Decimal | None = None

    def collect(self) -> Iterator[Metric]:
        yield _one("build_info", "The version of the program.", 1, version=__version__)
        yield from _stages(self.facts.reports)
        yield _alerts(self.facts)
        failing = "Chores (housekeeping jobs) whose last run failed."
        yield _one("chores_failing", failing, self.facts.failing_chores)
        unhandled = "Queued jobs whose job_type no stage handles."
        yield _one("unhandled_jobs", unhandled, self.facts.unhandled_rows)
        yield _one("hosts_left_alone", "Hosts whose circuit is open.", self.facts.open_circuits)
        yield _one("workers", "Live processes that work queues.", len(self.facts.workers))
        yield _own_limits(self.facts.workers)
        yield from _providers(self.spent)
        if self.installation_cap_usd is not None:
            help_ = "What all tenants together may spend at place providers in a month."
            yield _one("provider_installation_cap_usd", help_, float(self.installation_cap_usd))
        yield from self._database_figures()
        if (free := free_bytes(self.facts.settings.scrapersky_data_dir)) is not None:
            yield _one("disk_free_bytes", "Free where the data folder lies.", free)
        if self.engine is not None:
            yield from _process(self.engine)

    def _database_figures(self) -> Iterator[Metric]:
        size = self.facts.settings.database_pool_size
        used = self.database.checked_out()
        yield _one("database_connections_in_use", "Of this process's pool.", used)
        yield _one("database_connections_most", "As many as the pool may have.", size)
        waits = CounterMetricFamily(
            PREFIX + "database_pool_waits",
            "Times that a connection was wanted while all were in use." + PROCESS,
        )
        waits.add_metric([], self.database.pool_waits())
        yield waits


def exposition(everything: Everything) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(everything)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _one(name: str, help_: str, value: float, **labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(PREFIX + name, help_, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _stages(reports: Sequence[StageReport]) -> Iterator[Metric]:
    for name, (help_, figure) in OF_STAGES.items():
        family = GaugeMetricFamily(PREFIX + name, help_, labels=["stage"])
        for report in reports:
            if (value := figure(report)) is not None:
                family.add_metric([report.name], float(value))
        yield family
    yield _durations(reports)
    yield _attempts(reports)


def _durations(reports: Sequence[StageReport]) -> Metric:
    family = GaugeMetricFamily(
        PREFIX + "stage_duration_seconds",
        "From claim to end; half and 95 % of the attempts took no longer." + LAST_HOUR,
        labels=["stage", "quantile"],
    )
    for report in reports:
        for quantile, ms in (("0.5", report.p50_ms), ("0.95", report.p95_ms)):
            if ms is not None:
                family.add_metric([report.name, quantile], ms / 1000)
    return family


def _attempts(reports: Sequence[StageReport]) -> Metric:
    family = GaugeMetricFamily(
        PREFIX + "stage_attempts_last_hour",
        "Attempts by how they ended." + LAST_HOUR,
        labels=["stage", "end"],
    )
    for report in reports:
        for kind, word in WORDS.items():
            family.add_metric([report.name, word], report.last_hour.get(kind, 0))
    return family


def _alerts(facts: Facts) -> Metric:
    family = GaugeMetricFamily(
        PREFIX + "alerts", "Alerts that fire right now, by rule.", labels=["rule"]
    )
    firing = Counter(each.rule for each in judge(facts))
    for rule in RULES:
        family.add_metric([rule.name], firing[rule.name])
    return family


def _own_limits(workers: Sequence[Worker]) -> Metric:
    family = GaugeMetricFamily(
        PREFIX + "workers_at_own_limit",
        "Live processes that ran out of it in the last five minutes.",
        labels=["limit"],
    )
    for limit in OwnLimit:
        reached = sum(limit.value in each.vitals.get("own_limits", {}) for each in workers)
        family.add_metric([limit.value], reached)
    return family


def _providers(spent: Sequence[Spent]) -> Iterator[Metric]:
    """By the provider's own kinds of requests; who asked is told by the ledger, and not here."""
    requests = GaugeMetricFamily(
        PREFIX + "provider_requests_this_month",
        "Requests to place providers, the free ones too; not those they did not bill." + THIS_MONTH,
        labels=["provider", "sku"],
    )
    money = GaugeMetricFamily(
        PREFIX + "provider_spent_usd_this_month",
        "What these cost, as our ledger has it; 0 where all were free." + THIS_MONTH,
        labels=["provider", "sku"],
    )
    for each in spent:
        requests.add_metric([each.provider, each.sku], each.requests)
        money.add_metric([each.provider, each.sku], float(each.usd))
    yield requests
    yield money


def _process(engine: Engine) -> Iterator[Metric]:
    """What this process has counted."""
    if engine.wakeups.is_listening:
        up = "1 when this process hears of new rows at once, 0 when it has to wait for its tick."
        yield _one("listener_up", up, engine.wakeups.listener.up)
    fetches = CounterMetricFamily(
        PREFIX + "fetches", "Fetches by how they ended." + PROCESS, labels=["end"]
    )
    for end in FetchEnd:
        fetches.add_metric([end.value], engine.figures.fetches[end])
    yield fetches
    yield _counted("rows_claimed", "Rows claimed.", ["stage"], _claimed(engine))
    help_ = "Attempts by how they ended; rows rescued are those this process took from others."
    yield _counted("attempts", help_, ["stage", "end"], _ended(engine))


def _counted(
    name: str, help_: str, labels: Sequence[str], counts: Iterable[tuple[list[str], int]]
) -> Metric:
    family = CounterMetricFamily(PREFIX + name, help_ + PROCESS, labels=labels)
    for values, count in counts:
        family.add_metric(values, count)
    return family


def _claimed(engine: Engine) -> Iterator[tuple[list[str], int]]:
    for name, runner in engine.runners.items():
        yield [name], runner.claimed


def _ended(engine: Engine) -> Iterator[tuple[list[str], int]]:
    for name, runner in engine.runners.items():
        totals = runner.settler.totals + engine.rescuer.totals[name]
        for kind, word in WORDS.items():
            yield [name, word], totals[kind]
