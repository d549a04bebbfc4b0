"""`scrapersky alerts`: list firing and recent alerts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.options import AsJson
from scrapersky.cli.output import build_table, format_time, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.operations.alerts import list_firing_alerts, list_recent_alerts
from scrapersky.operations.routes import AlertsOut, FiringOut, PastAlertOut, alerts_out
from scrapersky.pipeline.report import load_full_status
from scrapersky.stages import STAGES


def alerts(as_json: AsJson = False) -> int:
    """List firing and recent alerts."""

    async def step(session: AsyncSession, context: CommandContext) -> AlertsOut:
        status = await load_full_status(session, STAGES, context.settings)
        firing = await list_firing_alerts(session, status)
        return alerts_out(firing, await list_recent_alerts(session, limit=20))

    def show(alerts: AlertsOut) -> None:
        if as_json:
            print_json(alerts)
            return
        _print_firing(alerts.firing)
        if alerts.recent:
            out.print()
            _print_recent(alerts.recent)

    return run_in_transaction(step, show)


def _print_firing(firing: Sequence[FiringOut]) -> None:
    if not firing:
        out.print("No alerts are firing.")
    for each in firing:
        about = f" {escape(each.subject)}" if each.subject else ""
        since = f" (since {format_time(each.since)})" if each.since else ""
        line = f"[red]{each.rule}[/red]{about}: {escape(each.sentence)}{since}"
        out.print(line, soft_wrap=True, highlight=False)


def _print_recent(past: Sequence[PastAlertOut]) -> None:
    table = build_table("Ended", "Started", "Alert", "Subject", "Message")
    for each in past:
        cells = (
            format_time(each.cleared_at),
            format_time(each.began_at),
            each.rule,
            each.subject,
            each.sentence,
        )
        table.add_row(*map(escape, cells))
    print_table(table)
