"""The overview page and its live parts, loaded with few queries and cached briefly."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import monotonic
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import HTMLResponse
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.charts import StackedBars, build_stacked_bars
from scrapersky.dashboard.formats import format_duration
from scrapersky.dashboard.live import LiveContext, LiveView, Parts
from scrapersky.dashboard.overview import throughput, totals
from scrapersky.dashboard.overview.newest_domains import NewestDomain, list_newest_domains
from scrapersky.dashboard.overview.stages import (
    Concern,
    OverviewFindings,
    StageFigures,
    StageSummary,
    build_concerns,
    build_stage_summary,
    get_stage_title,
    list_stage_attributes,
    load_figures,
)
from scrapersky.dashboard.overview.throughput import ChartPeriod, Throughput
from scrapersky.dashboard.overview.totals import (
    OverviewTotal,
    TableStatistics,
    TotalCounts,
    build_totals,
    load_statistics,
)
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import PAGE_HEADERS, Renderer
from scrapersky.errors import InvalidInput
from scrapersky.http.application import AppContext
from scrapersky.http.auth import Curator, Viewer
from scrapersky.http.context import Overview
from scrapersky.intake import describe_entry, preview_entries
from scrapersky.models import Actor, Role
from scrapersky.operations.alerts import FiringAlert, list_firing_alerts
from scrapersky.pipeline.report import StageReport, load_status
from scrapersky.pipeline.stats import count_recent_events

Answer = TypeVar("Answer")

TTL_FACTOR = 4.0
"""A result that took one second to load is cached for four, so loading takes at most a fifth of the
time.
"""
MAX_TTL_SECONDS = 30.0


@dataclass(frozen=True)
class _CacheEntry(Generic[Answer]):
    answer: Answer
    until: float


class SingleFlightCache(Generic[Answer]):
    """Cache in which concurrent requests for the same key share one load."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _CacheEntry[Answer]] = {}
        self._finding: dict[Hashable, asyncio.Lock] = {}

    async def get(self, key: Hashable, find: Callable[[], Awaitable[Answer]]) -> Answer:
        lock = self._finding.setdefault(key, asyncio.Lock())
        async with lock:
            kept = self._kept.get(key)
            if kept is not None and monotonic() < kept.until:
                return kept.answer
            began = monotonic()
            answer = await find()
            self._store(key, answer, took=monotonic() - began)
            return answer

    def _store(self, key: Hashable, answer: Answer, *, took: float) -> None:
        now = monotonic()
        self._kept = {each: kept for each, kept in self._kept.items() if kept.until > now}
        self._finding = {
            each: lock
            for each, lock in self._finding.items()
            if lock.locked() or each in self._kept
        }
        until = now + min(took * TTL_FACTOR, MAX_TTL_SECONDS)
        self._kept[key] = _CacheEntry(answer, until)


@dataclass(frozen=True)
class OverviewFigures:
    """Figures that are the same for all users who may see them; cached briefly."""

    figures: Sequence[StageFigures]
    counted: TotalCounts
    statistics: TableStatistics


@dataclass(frozen=True)
class InstallationHealth:
    """Problems of the installation by the rules of the alerts page; operators only."""

    reports: Mapping[str, StageReport] = field(default_factory=dict)
    """By stage name."""
    alerts: Sequence[FiringAlert] = ()


@dataclass(frozen=True)
class OverviewCaches:
    """Caches of one process."""

    known: SingleFlightCache[OverviewFigures] = field(default_factory=SingleFlightCache)
    judged: SingleFlightCache[InstallationHealth] = field(default_factory=SingleFlightCache)
    done: SingleFlightCache[Throughput] = field(default_factory=SingleFlightCache)


@dataclass(frozen=True)
class OverviewData:
    """Everything that the overview templates need."""

    stages: Sequence[StageSummary]
    concerns: Sequence[Concern]
    totals: Sequence[OverviewTotal]
    throughput: Throughput
    chart: StackedBars
    newest: Sequence[NewestDomain]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever imported."""
        return not any(each.count for each in self.totals)


@dataclass(frozen=True)
class OverviewLoader:
    """Loads the overview for one actor."""

    app: FastAPI
    session: AsyncSession
    actor: Actor

    @property
    def context(self) -> AppContext:
        context: AppContext = self.app.state.context
        return context

    @property
    def tenant_id(self) -> UUID | None:
        """None for operators, who see all tenants."""
        return None if self.actor.is_operator else self.actor.tenant_id

    async def load(self, over: ChartPeriod) -> OverviewData:
        keepers = _get_caches(self.app)
        known = await keepers.known.get(self.tenant_id, self._load_figures)
        now = known.figures[0].now
        done = await keepers.done.get(
            (self.tenant_id, over), lambda: self._load_throughput(over, now)
        )
        judged = await keepers.judged.get(self.tenant_id, self._load_health)
        stages = self._build_stages(known, done, judged)
        newest = await list_newest_domains(self.session, self.actor.tenant_id)
        return OverviewData(
            stages=stages,
            concerns=self._build_concerns(known, stages, judged),
            totals=build_totals(known.counted, known.statistics),
            throughput=done,
            chart=build_stacked_bars(done.series, build_axis_labels(done)),
            newest=newest,
        )

    async def _load_figures(self) -> OverviewFigures:
        session, context = self.session, self.context
        figures = await load_figures(
            session,
            context.stages,
            self.tenant_id,
            places=context.settings.host_concurrency,
        )
        counted = await totals.count_totals(session, self.tenant_id)
        return OverviewFigures(
            figures=figures,
            counted=counted,
            statistics=await self._load_statistics(figures, counted),
        )

    async def _load_health(self) -> InstallationHealth:
        if not self.actor.is_operator:
            return InstallationHealth()
        stages, settings = self.context.stages, self.context.settings
        now = await load_status(self.session, stages, settings)
        now = replace(now, last_hours=await count_recent_events(self.session, stages))
        reports = {each.name: each for each in now.reports}
        return InstallationHealth(reports, await list_firing_alerts(self.session, now))

    async def _load_statistics(
        self, figures: Sequence[StageFigures], counted: TotalCounts
    ) -> TableStatistics:
        """Load planner statistics, only if a count hit its limit and all tenants are shown."""
        is_large = counted.has_large or not all(each.done_is_all for each in figures)
        if not is_large or self.tenant_id is not None:
            return TableStatistics()
        attributes = list_stage_attributes(self.context.stages) | totals.list_total_attributes()
        return await load_statistics(self.session, attributes)

    async def _load_throughput(self, over: ChartPeriod, now: datetime) -> Throughput:
        if self.tenant_id is not None:
            return await throughput.load_tenant_throughput(self.session, self.tenant_id, over, now)
        titles = {each.name: get_stage_title(each.name) for each in self.context.stages}
        return await throughput.load_stage_throughput(self.session, titles, over, now)

    def _build_stages(
        self, known: OverviewFigures, done: Throughput, judged: InstallationHealth
    ) -> list[StageSummary]:
        return [
            build_stage_summary(
                stage,
                figures,
                known.statistics,
                last_hour=done.last_hour.get(stage.name, 0) if self.actor.is_operator else None,
                report=judged.reports.get(stage.name),
            )
            for stage, figures in zip(self.context.stages, known.figures, strict=True)
        ]

    def _build_concerns(
        self, known: OverviewFigures, stages: Sequence[StageSummary], judged: InstallationHealth
    ) -> list[Concern]:
        findings = OverviewFindings(
            letters={each.name: each.letters for each in known.figures},
            alerts=judged.alerts,
            circuits=known.counted.circuits if self.actor.is_operator else 0,
            warnings=known.counted.warnings,
        )
        return build_concerns(findings, {each.name: each.title for each in stages})


def build_axis_labels(done: Throughput) -> list[str]:
    """Return axis labels that are independent of the time zone."""
    size, count = done.over.bucket.total_seconds(), done.over.buckets
    return [*(f"{format_duration(size * left)} ago" for left in range(count - 1, 0, -1)), "now"]


def _get_caches(app: FastAPI) -> OverviewCaches:
    """Return the caches of an application: two applications in a process may use two databases."""
    if not hasattr(app.state, "overview"):
        app.state.overview = OverviewCaches()
    keepers: OverviewCaches = app.state.overview
    return keepers


PARTS = ("welcome", "attention", "newest", "totals", "pipeline", "chart", "chart-numbers")
"""Each has a template and an element id of the same name."""
MAX_PREVIEW_LENGTH = 4_000

router = APIRouter(route_class=PageRoute)


@router.get("/")
async def front_page(
    actor: Viewer, show: Renderer, session: Overview, over: ChartPeriod = ChartPeriod.DAY
) -> HTMLResponse:
    data = await OverviewLoader(show.request.app, session, actor).load(over)
    return show.page(
        "overview/page.html",
        title="Overview",
        parts=PARTS,
        may_start=actor.role.includes(Role.CURATOR),
        **_build_values(data),
    )


@router.get("/start/preview")
async def preview(
    actor: Curator,
    show: Renderer,
    text: Annotated[str, Query(max_length=MAX_PREVIEW_LENGTH)],
) -> HTMLResponse:
    """Show how the start box would interpret each entry, without storing anything."""
    try:
        entries = preview_entries(text, show.context.settings)
    except InvalidInput:
        entries = []
    descriptions = [(each, describe_entry(each, dry_run=True)) for each in entries]
    return HTMLResponse(
        show.part("overview/preview.html", entries=descriptions), headers=PAGE_HEADERS
    )


async def render_live_parts(live: LiveContext) -> Parts:
    over = ChartPeriod(live.subject) if live.subject in list(ChartPeriod) else ChartPeriod.DAY
    loader = OverviewLoader(live.show.request.app, live.session, live.actor)
    values = _build_values(await loader.load(over))
    may_start = live.actor.role.includes(Role.CURATOR)
    return {
        name: live.show.part(f"overview/{name}.html", may_start=may_start, **values)
        for name in PARTS
    }


def _build_values(data: OverviewData) -> dict[str, Any]:
    labels = build_axis_labels(data.throughput)
    rows = zip(labels, data.throughput.starts, strict=True)
    return {
        "seen": data,
        "over": data.throughput.over,
        "overs": list(ChartPeriod),
        "rows": list(rows),
    }


OVERVIEW_VIEW = LiveView("overview", render_live_parts, operator=True)
