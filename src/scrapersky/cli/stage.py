"""`scrapersky stage`: how the queues are doing; run, pause and resume them."""

from __future__ import annotations

from typing import Annotated

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.exits import Exit
from scrapersky.cli.many import Why
from scrapersky.cli.options import AsJson, StageName
from scrapersky.cli.output import counted, note, out, print_json
from scrapersky.cli.session import Opened, quieten, run_in_transaction, run_opened
from scrapersky.cli.stage_pace import pace
from scrapersky.cli.stage_report import print_stage, print_stages
from scrapersky.cli.stage_rows import cancel, requeue, reset
from scrapersky.operations import service
from scrapersky.operations.schemas import StageOut
from scrapersky.pipeline.engine import running_engine
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.report import (
    StageReport,
    Standing,
    full_standing,
    live_workers,
    report_stage,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.troubles import ticks
from scrapersky.stages import STAGES

app = typer.Typer(help="See, run, pause or resume the queues.", no_args_is_help=True)
for each in (pace, requeue, cancel, reset):
    app.command()(each)

Here = Annotated[bool, typer.Option("--here", help="Work the queue in this process.")]


@app.command("list")
def list_stages(as_json: AsJson = False) -> int:
    """Show every stage, in the order rows travel, and who works them."""

    async def step(session: AsyncSession, everything: Opened) -> Standing:
        return await full_standing(session, STAGES, everything.settings)

    def show(standing: Standing) -> None:
        if as_json:
            print_json([StageOut.model_validate(each) for each in standing.reports])
        else:
            print_stages(standing)

    return run_in_transaction(step, show)


@app.command()
def show(name: StageName, as_json: AsJson = False) -> int:
    """Show one stage: its counts, ages, pace and problems."""
    stage = service.find_stage(STAGES, name)

    async def step(session: AsyncSession, everything: Opened) -> StageReport:
        return await report_stage(session, stage, everything.settings)

    def shown(report: StageReport) -> None:
        print_json(StageOut.model_validate(report)) if as_json else print_stage(report)

    return run_in_transaction(step, shown)


@app.command()
def run(name: StageName, here: Here = False) -> int:
    """Have the queue looked at now: by the workers there are, or else by this process."""
    stage = service.find_stage(STAGES, name)

    async def command(everything: Opened) -> int:
        consumers = 0 if here else await _wake(everything, stage)
        if consumers:
            out.print(f"{counted(consumers, 'worker')} woken.", highlight=False)
            return Exit.OK
        return await _run_here(everything, stage)

    return run_opened(command)


async def _wake(everything: Opened, stage: AnyStage) -> int:
    """How many will look. A `scan` beside us is a worker too, but looks at no queue."""
    async with everything.database.transaction() as session:
        alive = await live_workers(session, everything.settings)
        service.run_now(session, everything.actor, stage)
    return sum(ticks(each.stages.get(stage.name, {})) for each in alive)


async def _run_here(everything: Opened, stage: AnyStage) -> int:
    quieten("scrapersky.pipeline", everything.settings)
    async with running_engine(everything.database, everything.settings, [stage]) as engine:
        report = await run_job_loop(engine.runner(stage.name))
    fields = report.as_fields() if report else {}
    said = ", ".join(f"{key} {value}" for key, value in fields.items() if key != "stage")
    out.print(f"{stage.name}: {said}", highlight=False)
    return Exit.FAILED if report and report.failed else Exit.OK


@app.command()
def pause(name: StageName, note: Why = None) -> int:
    """Stop claiming rows, in every process; rows being worked go on."""
    return _set_paused(name, paused=True, reason=note)


@app.command()
def resume(name: StageName) -> int:
    """Claim rows again."""
    return _set_paused(name, paused=False)


def _set_paused(name: str, *, paused: bool, reason: str | None = None) -> int:
    stage = service.find_stage(STAGES, name)

    async def step(session: AsyncSession, everything: Opened) -> None:
        await service.set_paused(session, everything.actor, stage, paused=paused, note=reason)

    def show(_: None) -> None:
        note(f"{stage.name} is {'paused' if paused else 'working again'}.")

    return run_in_transaction(step, show)
