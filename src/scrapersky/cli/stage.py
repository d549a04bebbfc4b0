"""`scrapersky stage`: list, run, pause, resume and retune stages; requeue, cancel or reset rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.bulk import (
    AllOption,
    BulkCommandOptions,
    DryRun,
    NewerThan,
    NoteOption,
    OlderThan,
    PerMinute,
    Yes,
    build_filters,
    has_ids,
    run_bulk,
)
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.options import AsJson, StageName
from scrapersky.cli.output import (
    build_table,
    format_count,
    format_duration,
    format_time,
    note,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.session import (
    CommandContext,
    run_in_transaction,
    run_with_context,
    silence_logger,
)
from scrapersky.lists import BulkOut, BulkRequest
from scrapersky.operations import service
from scrapersky.operations.listing import build_stage_listing
from scrapersky.operations.schemas import StageOut
from scrapersky.pipeline.bulk import CANCEL, REQUEUE, RESET, StatusTransition
from scrapersky.pipeline.engine import run_engine
from scrapersky.pipeline.flow import CHANGEABLE_FIELDS
from scrapersky.pipeline.health import is_ticking
from scrapersky.pipeline.loop import run_job_loop
from scrapersky.pipeline.report import (
    PipelineStatus,
    StageReport,
    list_live_workers,
    load_full_status,
    report_stage,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.pipeline.tables import Worker
from scrapersky.stages import STAGES

USE_SETTING = "as set"
"""Option value that removes an override."""

PaceOption = Annotated[str | None, typer.Option(metavar="NUMBER", help=f"Or '{USE_SETTING}'.")]


def pace(
    name: StageName,
    concurrency: PaceOption = None,
    batch_size: PaceOption = None,
    interval_minutes: PaceOption = None,
    high_water: PaceOption = None,
) -> int:
    """Override the pace of a stage in every process, without a restart."""
    stage = service.find_stage(STAGES, name)
    values = (interval_minutes, batch_size, concurrency, high_water)
    changes = {
        name: _parse_number(name, text)
        for name, text in zip(CHANGEABLE_FIELDS, values, strict=True)
        if text is not None
    }

    async def step(session: AsyncSession, context: CommandContext) -> dict[str, Any]:
        return await service.change_pace(session, context.actor, stage, changes)

    def show(changed: dict[str, Any]) -> None:
        summary = ", ".join(f"{key} {value}" for key, value in changed.items())
        out.print(f"{stage.name}: {summary or 'no overrides'}", highlight=False)

    return run_in_transaction(step, show)


def _parse_number(name: str, text: str) -> float | None:
    if text.strip().lower() == USE_SETTING:
        return None
    try:
        return int(text) if name in service.INTEGER_FIELDS else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor '{USE_SETTING}'.") from None


def print_stages(status: PipelineStatus) -> None:
    reports = status.reports
    table = build_table(
        "Stage", "State", "Due", "Oldest", "Workers", "Rows", right=["Due", "Oldest"]
    )
    for each in reports:
        table.add_row(
            each.name,
            _format_state(each),
            f"{each.due:,}",
            format_duration(each.oldest_due_seconds) if each.oldest_due_seconds is not None else "",
            str(each.consumers),
            _format_counts(each.counts),
        )
    print_table(table)
    out.print()
    for subject, trouble in status.troubles:
        out.print(f"[red]{subject}[/red]: {escape(trouble.sentence)}", soft_wrap=True)
    print_workers(status.workers)


def print_workers(workers: Sequence[Worker]) -> None:
    if not workers:
        out.print("No workers running. Start one with `scrapersky serve` or `scrapersky worker`.")
        return
    table = build_table(
        "Worker", "Version", "Started", "Heartbeat", "In flight", right=["In flight"]
    )
    for each in workers:
        in_flight = sum(stage.get("in_flight", 0) for stage in each.stages.values())
        name = f"{each.hostname}:{each.pid}"
        table.add_row(
            name,
            each.version,
            format_time(each.started_at),
            format_time(each.beat_at),
            str(in_flight),
        )
    print_table(table)


def print_stage(report: StageReport) -> None:
    facts = {
        "Stage": report.name,
        "Task": report.does,
        "Workflow": report.workflow or "",
        "State": _format_state(report),
        "Note": report.note or "",
        "Backpressure": report.held_back or "",
        "Rows": _format_counts(report.counts),
        "Due": f"{report.due:,}",
        "Next due": format_time(report.next_due_at),
        "In flight": _format_in_flight(report),
        "Dead letters": f"{report.dead_letters:,}" if report.dead_letters else "",
        "Last hour": _format_counts(report.last_hour),
        "Latency": _format_durations(report),
        "Workers": str(report.consumers),
        "Last tick": format_time(report.last_tick),
        "Pace": ", ".join(f"{name} {value:g}" for name, value in asdict(report.pace).items()),
        "Problems": " ".join(report.problems),
    }
    table = build_table("", "")
    table.show_header = False
    for name, fact in facts.items():
        if fact:
            table.add_row(f"[bold]{name}[/bold]", fact if name == "State" else escape(fact))
    print_table(table)


def _format_in_flight(report: StageReport) -> str:
    late = f", {report.overdue:,} past their timeout" if report.overdue else ""
    stuck = f", {report.stuck:,} stuck" if report.stuck else ""
    return f"{report.in_flight:,}{late}{stuck}" if report.in_flight else ""


def _format_durations(report: StageReport) -> str:
    if report.p50_ms is None or report.p95_ms is None:
        return ""
    return f"p50 {report.p50_ms:,.0f} ms, p95 {report.p95_ms:,.0f} ms"


def _format_state(report: StageReport) -> str:
    if report.paused:
        return "[yellow]paused[/yellow]"
    return "[red]unhealthy[/red]" if report.problems else "[green]healthy[/green]"


def _format_counts(counts: object) -> str:
    assert hasattr(counts, "items"), "counts must be a mapping"
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


RowIds = Annotated[list[UUID] | None, typer.Option("--id", help="Row id. Repeatable.")]
OfStatus = Annotated[
    list[str] | None, typer.Option("--status", help="A status of the stage. Repeatable.")
]
OfError = Annotated[str | None, typer.Option(help="Only rows with this text in the error.")]
AlsoProcessing = Annotated[
    bool,
    typer.Option(
        "--also-processing", help="Include rows being processed; their workers lose the claim."
    ),
]


def requeue(
    name: StageName,
    ids: RowIds = None,
    every: AllOption = False,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    per_minute: PerMinute = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Queue failed rows again with all attempts restored."""
    filters = {"error": error, "created_until": older_than, "created_since": newer_than}
    bulk_request = _build_request(name, ids, every, filters, note=why, per_minute=per_minute)
    return _run_transition(
        name, REQUEUE, bulk_request, BulkCommandOptions("requeued", "row", yes=yes, dry_run=dry_run)
    )


def cancel(
    name: StageName,
    ids: RowIds = None,
    every: AllOption = False,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Remove waiting rows from the queue."""
    filters = {"error": error, "created_until": older_than, "created_since": newer_than}
    bulk_request = _build_request(name, ids, every, filters, note=why)
    return _run_transition(
        name, CANCEL, bulk_request, BulkCommandOptions("cancelled", "row", yes=yes, dry_run=dry_run)
    )


def reset(
    name: StageName,
    ids: RowIds = None,
    every: AllOption = False,
    of_status: OfStatus = None,
    error: OfError = None,
    older_than: OlderThan = None,
    newer_than: NewerThan = None,
    also_processing: AlsoProcessing = False,
    per_minute: PerMinute = None,
    why: NoteOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Reset finished rows, so that they are processed again."""
    filters = {
        "status": of_status,
        "error": error,
        "created_until": older_than,
        "created_since": newer_than,
    }
    how = {"note": why, "per_minute": per_minute, "also_processing": also_processing}
    bulk_request = _build_request(name, ids, every, filters, **how)
    return _run_transition(
        name, RESET, bulk_request, BulkCommandOptions("reset", "row", yes=yes, dry_run=dry_run)
    )


def _build_request(
    name: str, ids: list[UUID] | None, every: bool, values: dict[str, Any], **how: Any
) -> BulkRequest:
    if has_ids(ids, values, every=every):
        return BulkRequest(ids=tuple(ids or ()), **how)
    listing = build_stage_listing(service.find_stage(STAGES, name))
    return BulkRequest(build_filters(listing, every=every, **values), **how)


def _run_transition(
    name: str, act: StatusTransition, bulk_request: BulkRequest, way: BulkCommandOptions
) -> int:
    stage = service.find_stage(STAGES, name)

    async def many(
        session: AsyncSession, context: CommandContext, bulk_request: BulkRequest
    ) -> BulkOut:
        actor, settings = context.actor, context.settings
        return await service.act_on_rows(session, actor, stage, act, bulk_request, settings)

    return run_bulk(many, bulk_request, way)


app = typer.Typer(
    help="List, run, pause and tune the stages of the pipeline.", no_args_is_help=True
)
for each in (pace, requeue, cancel, reset):
    app.command()(each)

Here = Annotated[bool, typer.Option("--here", help="Process the queue in this process.")]


@app.command("list")
def list_stages(as_json: AsJson = False) -> int:
    """List all stages in pipeline order, and the workers."""

    async def step(session: AsyncSession, context: CommandContext) -> PipelineStatus:
        return await load_full_status(session, STAGES, context.settings)

    def show(status: PipelineStatus) -> None:
        if as_json:
            print_json([StageOut.model_validate(each) for each in status.reports])
        else:
            print_stages(status)

    return run_in_transaction(step, show)


@app.command()
def show(name: StageName, as_json: AsJson = False) -> int:
    """Show the counts, latencies, pace and problems of a stage."""
    stage = service.find_stage(STAGES, name)

    async def step(session: AsyncSession, context: CommandContext) -> StageReport:
        return await report_stage(session, stage, context.settings)

    def print_result(report: StageReport) -> None:
        print_json(StageOut.model_validate(report)) if as_json else print_stage(report)

    return run_in_transaction(step, print_result)


@app.command()
def run(name: StageName, here: Here = False) -> int:
    """Process the queue now: wake the workers, or process it here if there are none."""
    stage = service.find_stage(STAGES, name)

    async def command(context: CommandContext) -> int:
        consumers = 0 if here else await _wake_workers(context, stage)
        if consumers:
            out.print(f"{format_count(consumers, 'worker')} notified.", highlight=False)
            return ExitCode.OK
        return await _run_here(context, stage)

    return run_with_context(command)


async def _wake_workers(context: CommandContext, stage: AnyStage) -> int:
    """Wake the stage and return how many workers will respond.

    A `scan` running elsewhere is registered as a worker but does not tick any queue.
    """
    async with context.database.transaction() as session:
        alive = await list_live_workers(session, context.settings)
        service.wake_stage(session, context.actor, stage)
    return sum(is_ticking(each.stages.get(stage.name, {})) for each in alive)


async def _run_here(context: CommandContext, stage: AnyStage) -> int:
    silence_logger("scrapersky.pipeline", context.settings)
    async with run_engine(context.database, context.settings, [stage]) as engine:
        report = await run_job_loop(engine.runner(stage.name))
    fields = report.as_fields() if report else {}
    summary = ", ".join(f"{key} {value}" for key, value in fields.items() if key != "stage")
    out.print(f"{stage.name}: {summary}", highlight=False)
    return ExitCode.FAILED if report and report.failed else ExitCode.OK


@app.command()
def pause(name: StageName, note: NoteOption = None) -> int:
    """Stop claiming rows in every process. Rows being processed are finished."""
    return _set_paused(name, paused=True, reason=note)


@app.command()
def resume(name: StageName) -> int:
    """Resume claiming rows."""
    return _set_paused(name, paused=False)


def _set_paused(name: str, *, paused: bool, reason: str | None = None) -> int:
    stage = service.find_stage(STAGES, name)

    async def step(session: AsyncSession, context: CommandContext) -> None:
        await service.set_paused(session, context.actor, stage, paused=paused, note=reason)

    def show(_: None) -> None:
        note(f"{stage.name} is {'paused' if paused else 'running'}.")

    return run_in_transaction(step, show)
