"""`/metrics`: figures of the installation and of this process in the Prometheus format.

Figures from the database are gauges and equal in every process. Counters belong to one process,
start at zero with it and never decrease, whatever retention deletes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from fastapi import APIRouter, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import ColumnElement, Date, Subquery, and_, cast, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky import __version__
from scrapersky.db.session import Database
from scrapersky.errors import LimitedResource
from scrapersky.http.application import Context
from scrapersky.http.auth import OperatorViewer
from scrapersky.http.context import Overview
from scrapersky.http.problems import problem_responses
from scrapersky.models import CostEntry, CostMeter, CostMonth, CostState, InstallationBudget
from scrapersky.operations.alert_rules import RULES, AlertFacts, evaluate_rules
from scrapersky.operations.alerts import load_facts
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.report import StageReport, load_full_status
from scrapersky.pipeline.tables import EventKind, Worker
from scrapersky.pipeline.vitals import get_free_bytes
from scrapersky.scraper.http.fetch_outcomes import FetchOutcome
from scrapersky.settings import Settings

PROVIDER_TIMEZONE = "America/Los_Angeles"
"""Time zone in which the provider's month, and so its free quota, begins.

The same as in `places/budget/ledger.py`.
"""


@dataclass(frozen=True)
class ProviderSpending:
    """Usage of one kind of request (SKU) in the provider's current month."""

    provider: str
    sku: str
    requests: int
    """Excludes requests that the provider did not bill."""
    usd: Decimal


async def load_month_spending(session: AsyncSession) -> Sequence[ProviderSpending]:
    """Load the usage of every SKU this month, including free ones."""
    paid = _select_paid()
    result = await session.execute(
        select(
            CostMeter.provider,
            CostMeter.sku,
            CostMeter.requests,
            func.coalesce(paid.c.usd, Decimal(0)),
        )
        .outerjoin(paid, and_(paid.c.provider == CostMeter.provider, paid.c.sku == CostMeter.sku))
        .where(CostMeter.month == _build_first_day())
        .order_by(CostMeter.provider, CostMeter.sku)
    )
    return [ProviderSpending(*each) for each in result]


async def get_installation_cap(session: AsyncSession, settings: Settings) -> Decimal | None:
    """Return the monthly cap for all tenants together; None if there is no cap."""
    installation_cap = await session.scalar(select(InstallationBudget.monthly_cap_usd))
    default = settings.places_installation_cap_usd
    return (
        installation_cap
        if installation_cap is not None or default is None
        else Decimal(str(default))
    )


def _select_paid() -> Subquery:
    """Select this month's cost by SKU.

    Starts from the tenants that spent something, because the tenant is the first column of the
    ledger's index. A scrape then reads only this month's part of the ledger.
    """
    return (
        select(CostEntry.provider, CostEntry.sku, func.sum(CostEntry.usd).label("usd"))
        .select_from(CostMonth)
        .join(CostEntry, CostEntry.tenant_id == CostMonth.tenant_id)
        .where(
            CostMonth.month == _build_first_day(),
            CostMonth.spent_usd > 0,
            CostEntry.asked_at >= func.timezone(PROVIDER_TIMEZONE, _build_month_start()),
            CostEntry.state != CostState.NOT_BILLED,
        )
        .group_by(CostEntry.provider, CostEntry.sku)
        .subquery("paid")
    )


def _build_month_start() -> ColumnElement[object]:
    """Build the start of the month: midnight on the first, in the provider's time zone."""
    return func.date_trunc("month", func.timezone(PROVIDER_TIMEZONE, func.now()))


def _build_first_day() -> ColumnElement[object]:
    return cast(_build_month_start(), Date)


METRIC_PREFIX = "scrapersky_"
PROCESS_HELP = " Counted by this process since it started."
LAST_HOUR_HELP = " In the last hour, across all processes."
THIS_MONTH_HELP = " In the provider's current month, across all tenants. Resets to 0 each month."
ATTEMPT_LABELS = {
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
"""Label of each outcome of an attempt, in operators' terms: a row that failed permanently is dead.
"""

StageFigure = Callable[[StageReport], float | None]
STAGE_GAUGES: Mapping[str, tuple[str, StageFigure]] = {
    "stage_queued_rows": ("Queued rows, due or not.", lambda each: each.queued),
    "stage_due_rows": ("Queued rows that are due.", lambda each: each.due),
    "stage_oldest_due_seconds": (
        "Age of the oldest due row; 0 if there is none.",
        lambda each: each.oldest_due_seconds or 0,
    ),
    "stage_oldest_ready_seconds": (
        "Age of the oldest due row that is not waiting for its host; 0 if there is none.",
        lambda each: each.oldest_ready_seconds or 0,
    ),
    "stage_in_flight_rows": ("Rows in processing.", lambda each: each.in_flight),
    "stage_overdue_rows": (
        "Rows in processing past the stage's timeout, or without a lease.",
        lambda each: each.overdue,
    ),
    "stage_stuck_rows": (
        "Rows in processing past their lease or of a dead worker; they wait for a rescue.",
        lambda each: each.stuck,
    ),
    "stage_run_failing": (
        "1 if the last run failed in any process.",
        lambda each: each.failing,
    ),
    "stage_open_dead_letters": ("Open dead letters.", lambda e: e.dead_letters),
    "stage_paused": ("1 if the stage is paused.", lambda each: each.paused),
    "stage_held_back": (
        "1 if backpressure from downstream stages limits its claims.",
        lambda each: each.held_back is not None,
    ),
    "stage_consumers": ("Live processes that run the stage.", lambda each: each.consumers),
    "stage_last_tick_seconds": (
        "Unix time of the stage's last tick in any process.",
        lambda each: each.last_tick.timestamp() if each.last_tick else None,
    ),
}


@dataclass(frozen=True, eq=False)
class MetricsCollector(Collector):
    """Collects all metrics at one moment."""

    facts: AlertFacts
    database: Database
    engine: Engine | None
    """None if this process does not work any queue."""
    spent: Sequence[ProviderSpending] = ()
    installation_cap_usd: Decimal | None = None

    def collect(self) -> Iterator[Metric]:
        yield _build_gauge("build_info", "Version of the program.", 1, version=__version__)
        yield from _build_stage_metrics(self.facts.reports)
        yield _build_alerts(self.facts)
        failing = "Chores (housekeeping jobs) whose last run failed."
        yield _build_gauge("chores_failing", failing, self.facts.failing_chores)
        unhandled = "Queued jobs whose job_type no stage handles."
        yield _build_gauge("unhandled_jobs", unhandled, self.facts.unhandled_rows)
        yield _build_gauge(
            "hosts_left_alone", "Hosts whose circuit is open.", self.facts.open_circuits
        )
        yield _build_gauge("workers", "Live worker processes.", len(self.facts.workers))
        yield _own_limits(self.facts.workers)
        yield from _build_provider_metrics(self.spent)
        if self.installation_cap_usd is not None:
            help_ = "Monthly cap for place providers across all tenants."
            yield _build_gauge(
                "provider_installation_cap_usd", help_, float(self.installation_cap_usd)
            )
        yield from self._build_database_metrics()
        if (free := get_free_bytes(self.facts.settings.scrapersky_data_dir)) is not None:
            yield _build_gauge(
                "disk_free_bytes", "Free bytes on the disk of the data folder.", free
            )
        if self.engine is not None:
            yield from _build_process_metrics(self.engine)

    def _build_database_metrics(self) -> Iterator[Metric]:
        size = self.facts.settings.database_pool_size
        used = self.database.checked_out()
        yield _build_gauge(
            "database_connections_in_use",
            "Connections of this process's pool that are in use.",
            used,
        )
        yield _build_gauge(
            "database_connections_most", "Maximum size of this process's pool.", size
        )
        waits = CounterMetricFamily(
            METRIC_PREFIX + "database_pool_waits",
            "Checkouts that had to wait because all connections were in use." + PROCESS_HELP,
        )
        waits.add_metric([], self.database.pool_waits())
        yield waits


def render_metrics(context: MetricsCollector) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(context)
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def _build_gauge(name: str, help_: str, value: float, **labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(METRIC_PREFIX + name, help_, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _build_stage_metrics(reports: Sequence[StageReport]) -> Iterator[Metric]:
    for name, (help_, figure) in STAGE_GAUGES.items():
        family = GaugeMetricFamily(METRIC_PREFIX + name, help_, labels=["stage"])
        for report in reports:
            if (value := figure(report)) is not None:
                family.add_metric([report.name], float(value))
        yield family
    yield _build_durations(reports)
    yield _build_attempts(reports)


def _build_durations(reports: Sequence[StageReport]) -> Metric:
    family = GaugeMetricFamily(
        METRIC_PREFIX + "stage_duration_seconds",
        "Duration of attempts from claim to end: p50 and p95." + LAST_HOUR_HELP,
        labels=["stage", "quantile"],
    )
    for report in reports:
        for quantile, ms in (("0.5", report.p50_ms), ("0.95", report.p95_ms)):
            if ms is not None:
                family.add_metric([report.name, quantile], ms / 1000)
    return family


def _build_attempts(reports: Sequence[StageReport]) -> Metric:
    family = GaugeMetricFamily(
        METRIC_PREFIX + "stage_attempts_last_hour",
        "Attempts by outcome." + LAST_HOUR_HELP,
        labels=["stage", "end"],
    )
    for report in reports:
        for kind, word in ATTEMPT_LABELS.items():
            family.add_metric([report.name, word], report.last_hour.get(kind, 0))
    return family


def _build_alerts(facts: AlertFacts) -> Metric:
    family = GaugeMetricFamily(METRIC_PREFIX + "alerts", "Firing alerts by rule.", labels=["rule"])
    firing = Counter(each.rule for each in evaluate_rules(facts))
    for rule in RULES:
        family.add_metric([rule.name], firing[rule.name])
    return family


def _own_limits(workers: Sequence[Worker]) -> Metric:
    family = GaugeMetricFamily(
        METRIC_PREFIX + "workers_at_own_limit",
        "Live processes that exhausted the resource in the last five minutes.",
        labels=["limit"],
    )
    for limit in LimitedResource:
        reached = sum(limit.value in each.vitals.get("own_limits", {}) for each in workers)
        family.add_metric([limit.value], reached)
    return family


def _build_provider_metrics(spent: Sequence[ProviderSpending]) -> Iterator[Metric]:
    """Build the usage metrics by provider and SKU. Usage by tenant is in the ledger, not here."""
    requests = GaugeMetricFamily(
        METRIC_PREFIX + "provider_requests_this_month",
        "Requests to place providers, including free ones, without those that were not billed."
        + THIS_MONTH_HELP,
        labels=["provider", "sku"],
    )
    money = GaugeMetricFamily(
        METRIC_PREFIX + "provider_spent_usd_this_month",
        "Cost of these requests according to the ledger; 0 if all were free." + THIS_MONTH_HELP,
        labels=["provider", "sku"],
    )
    for each in spent:
        requests.add_metric([each.provider, each.sku], each.requests)
        money.add_metric([each.provider, each.sku], float(each.usd))
    yield requests
    yield money


def _build_process_metrics(engine: Engine) -> Iterator[Metric]:
    """Build the counters of this process."""
    if engine.wakeups.is_listening:
        up = "1 if this process receives wake-ups, 0 if it only finds new rows with its next tick."
        yield _build_gauge("listener_up", up, engine.wakeups.listener.up)
    fetches = CounterMetricFamily(
        METRIC_PREFIX + "fetches", "Fetches by outcome." + PROCESS_HELP, labels=["end"]
    )
    for end in FetchOutcome:
        fetches.add_metric([end.value], engine.figures.fetches[end])
    yield fetches
    yield _build_counter("rows_claimed", "Rows claimed.", ["stage"], _iter_claimed_rows(engine))
    help_ = "Attempts by outcome. Rescued rows are those that this process took from dead workers."
    yield _build_counter("attempts", help_, ["stage", "end"], _iter_ended_attempts(engine))


def _build_counter(
    name: str, help_: str, labels: Sequence[str], counts: Iterable[tuple[list[str], int]]
) -> Metric:
    family = CounterMetricFamily(METRIC_PREFIX + name, help_ + PROCESS_HELP, labels=labels)
    for values, count in counts:
        family.add_metric(values, count)
    return family


def _iter_claimed_rows(engine: Engine) -> Iterator[tuple[list[str], int]]:
    for name, runner in engine.runners.items():
        yield [name], runner.claimed


def _iter_ended_attempts(engine: Engine) -> Iterator[tuple[list[str], int]]:
    for name, runner in engine.runners.items():
        totals = runner.settler.totals + engine.rescuer.totals[name]
        for kind, word in ATTEMPT_LABELS.items():
            yield [name, word], totals[kind]


router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    summary="Get Prometheus metrics",
    response_class=Response,
    responses={
        200: {
            "description": "Metrics in the Prometheus text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **problem_responses(401, 403),
    },
)
async def metrics(actor: OperatorViewer, context: Context, session: Overview) -> Response:
    status = await load_full_status(session, context.stages, context.settings)
    facts = await load_facts(session, status)
    engine = context.scheduler.engine if context.scheduler else None
    spent = await load_month_spending(session)
    cap = await get_installation_cap(session, context.settings)
    figures = render_metrics(MetricsCollector(facts, context.database, engine, spent, cap))
    return Response(figures, media_type=CONTENT_TYPE_LATEST)
