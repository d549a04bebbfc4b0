"""Stages and their workers, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.markup import escape

from scrapersky.cli.output import clock, out, print_table, table, when
from scrapersky.pipeline.report import StageReport, Standing
from scrapersky.pipeline.tables import Worker


def print_stages(standing: Standing) -> None:
    reports = standing.reports
    made = table("Stage", "State", "Due", "Oldest", "Workers", "Rows", right=["Due", "Oldest"])
    for each in reports:
        made.add_row(
            each.name,
            _state(each),
            f"{each.due:,}",
            clock(each.oldest_due_seconds) if each.oldest_due_seconds is not None else "",
            str(each.consumers),
            _counts(each.counts),
        )
    print_table(made)
    out.print()
    for subject, trouble in standing.troubles:
        out.print(f"[red]{subject}[/red]: {escape(trouble.sentence)}", soft_wrap=True)
    print_workers(standing.workers)


def print_workers(workers: Sequence[Worker]) -> None:
    if not workers:
        out.print("No worker is running; `scrapersky serve` or `scrapersky worker` starts one.")
        return
    made = table("Worker", "Version", "Since", "Beat", "In flight", right=["In flight"])
    for each in workers:
        in_flight = sum(stage.get("in_flight", 0) for stage in each.stages.values())
        name = f"{each.hostname}:{each.pid}"
        made.add_row(name, each.version, when(each.started_at), when(each.beat_at), str(in_flight))
    print_table(made)


def print_stage(report: StageReport) -> None:
    facts = {
        "Stage": report.name,
        "Does": report.does,
        "Workflow": report.workflow or "",
        "State": _state(report),
        "Note": report.note or "",
        "Held back": report.held_back or "",
        "Rows": _counts(report.counts),
        "Due": f"{report.due:,}",
        "Next due": when(report.next_due_at),
        "In flight": _in_flight(report),
        "Dead letters": f"{report.dead_letters:,}" if report.dead_letters else "",
        "Last hour": _counts(report.last_hour),
        "Took": _durations(report),
        "Workers": str(report.consumers),
        "Last tick": when(report.last_tick),
        "Pace": ", ".join(f"{name} {value:g}" for name, value in asdict(report.pace).items()),
        "Problems": " ".join(report.problems),
    }
    made = table("", "")
    made.show_header = False
    for name, fact in facts.items():
        if fact:
            made.add_row(f"[bold]{name}[/bold]", fact if name == "State" else escape(fact))
    print_table(made)


def _in_flight(report: StageReport) -> str:
    late = f", {report.overdue:,} past their timeout" if report.overdue else ""
    stuck = f", {report.stuck:,} stuck" if report.stuck else ""
    return f"{report.in_flight:,}{late}{stuck}" if report.in_flight else ""


def _durations(report: StageReport) -> str:
    if report.p50_ms is None or report.p95_ms is None:
        return ""
    return f"half of them up to {report.p50_ms:,.0f} ms, 95 % up to {report.p95_ms:,.0f} ms"


def _state(report: StageReport) -> str:
    if report.paused:
        return "[yellow]paused[/yellow]"
    return "[red]unhealthy[/red]" if report.problems else "[green]healthy[/green]"


def _counts(counts: object) -> str:
    assert hasattr(counts, "items"), "counts are by name"
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
