"""What the front page shows, found with few questions to the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.charts import StackedBars, stacked_bars
from scrapersky.dashboard.overview import throughput, totals
from scrapersky.dashboard.overview.attention import Concern, Findings, concerns_of
from scrapersky.dashboard.overview.figures import StageFigures, figures_of
from scrapersky.dashboard.overview.keeping import Keeper
from scrapersky.dashboard.overview.newest import Progress, newest_domains
from scrapersky.dashboard.overview.picture import StageShown, attributes_of, shown, title_of
from scrapersky.dashboard.overview.statistics import Statistics, statistics_of
from scrapersky.dashboard.overview.throughput import Over, Throughput
from scrapersky.dashboard.overview.totals import Counted, Total, totals_of
from scrapersky.dashboard.wording import duration
from scrapersky.http.context import AppContext
from scrapersky.models import Actor
from scrapersky.operations.alerts import Firing, firing_now
from scrapersky.pipeline.rates import last_hours
from scrapersky.pipeline.report import StageReport, standing


@dataclass(frozen=True)
class Known:
    """What is the same for everybody who may see it, and kept for a moment."""

    figures: Sequence[StageFigures]
    counted: Counted
    statistics: Statistics


@dataclass(frozen=True)
class Judged:
    """What is wrong with the installation, by the rules of the alerts page; for operators only."""

    reports: Mapping[str, StageReport] = field(default_factory=dict)
    """By the stage's name."""
    alerts: Sequence[Firing] = ()


@dataclass(frozen=True)
class Keepers:
    """What a process remembers of the last look."""

    known: Keeper[Known] = field(default_factory=Keeper)
    judged: Keeper[Judged] = field(default_factory=Keeper)
    done: Keeper[Throughput] = field(default_factory=Keeper)


@dataclass(frozen=True)
class Seen:
    """The front page."""

    stages: Sequence[StageShown]
    concerns: Sequence[Concern]
    totals: Sequence[Total]
    throughput: Throughput
    chart: StackedBars
    newest: Sequence[Progress]

    @property
    def is_empty(self) -> bool:
        """Nothing was ever handed in."""
        return not any(each.count for each in self.totals)


@dataclass(frozen=True)
class Looker:
    """For whom the page is made, and from what."""

    app: FastAPI
    session: AsyncSession
    actor: Actor

    @property
    def context(self) -> AppContext:
        context: AppContext = self.app.state.context
        return context

    @property
    def tenant_id(self) -> UUID | None:
        """Nothing for those who see all tenants together."""
        return None if self.actor.is_operator else self.actor.tenant_id

    async def look(self, over: Over) -> Seen:
        keepers = _keepers(self.app)
        known = await keepers.known.get(self.tenant_id, self._known)
        now = known.figures[0].now
        done = await keepers.done.get((self.tenant_id, over), lambda: self._throughput(over, now))
        judged = await keepers.judged.get(self.tenant_id, self._judged)
        stages = self._stages(known, done, judged)
        newest = await newest_domains(self.session, self.actor.tenant_id)
        return Seen(
            stages=stages,
            concerns=self._concerns(known, stages, judged),
            totals=totals_of(known.counted, known.statistics),
            throughput=done,
            chart=stacked_bars(done.series, ago(done)),
            newest=newest,
        )

    async def _known(self) -> Known:
        session, context = self.session, self.context
        figures = await figures_of(
            session,
            context.stages,
            self.tenant_id,
            places=context.settings.host_concurrency,
        )
        counted = await totals.count(session, self.tenant_id)
        return Known(
            figures=figures,
            counted=counted,
            statistics=await self._statistics(figures, counted),
        )

    async def _judged(self) -> Judged:
        if not self.actor.is_operator:
            return Judged()
        stages, settings = self.context.stages, self.context.settings
        now = await standing(self.session, stages, settings)
        now = replace(now, last_hours=await last_hours(self.session, stages))
        reports = {each.name: each for each in now.reports}
        return Judged(reports, await firing_now(self.session, now))

    async def _statistics(self, figures: Sequence[StageFigures], counted: Counted) -> Statistics:
        """Asked for only where something was too much to be counted, and all tenants are shown."""
        is_large = counted.has_large or not all(each.done_is_all for each in figures)
        if not is_large or self.tenant_id is not None:
            return Statistics()
        wanted = attributes_of(self.context.stages) | totals.attributes()
        return await statistics_of(self.session, wanted)

    async def _throughput(self, over: Over, now: datetime) -> Throughput:
        if self.tenant_id is not None:
            return await throughput.of_tenant(self.session, self.tenant_id, over, now)
        titles = {each.name: title_of(each.name) for each in self.context.stages}
        return await throughput.of_stages(self.session, titles, over, now)

    def _stages(self, known: Known, done: Throughput, judged: Judged) -> list[StageShown]:
        return [
            shown(
                stage,
                figures,
                known.statistics,
                last_hour=done.last_hour.get(stage.name, 0) if self.actor.is_operator else None,
                report=judged.reports.get(stage.name),
            )
            for stage, figures in zip(self.context.stages, known.figures, strict=True)
        ]

    def _concerns(
        self, known: Known, stages: Sequence[StageShown], judged: Judged
    ) -> list[Concern]:
        findings = Findings(
            letters={each.name: each.letters for each in known.figures},
            alerts=judged.alerts,
            circuits=known.counted.circuits if self.actor.is_operator else 0,
            warnings=known.counted.warnings,
        )
        return concerns_of(findings, {each.name: each.title for each in stages})


def ago(done: Throughput) -> list[str]:
    """The places of the chart's axis, as they are called in every zone."""
    size, count = done.over.bucket.total_seconds(), done.over.buckets
    return [*(f"{duration(size * left)} ago" for left in range(count - 1, 0, -1)), "now"]


def _keepers(app: FastAPI) -> Keepers:
    """One pair for each application: two of them in a process may have two databases."""
    if not hasattr(app.state, "overview"):
        app.state.overview = Keepers()
    keepers: Keepers = app.state.overview
    return keepers
