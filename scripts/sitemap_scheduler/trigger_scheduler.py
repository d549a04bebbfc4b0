"""Run the sitemap stage once, in this process, until its queue is empty."""

from __future__ import annotations

from typing import Annotated

import in_venv  # noqa: F401 (first: what follows is installed in .venv)
import typer
from by_hand import process_pending, run_script, say

from scrapersky.cli.session import CommandContext, run_with_context


def trigger_scheduler(
    limit: Annotated[int, typer.Option(min=1, help="At most so many at a time.")] = 10,
) -> int:
    """Work the pending sitemap jobs now; those another process holds are left to it."""

    async def command(everything: CommandContext) -> int:
        report = await process_pending(everything, limit)
        for name, figure in (report.as_fields() if report else {}).items():
            say(f"{name}: {figure}")
        return 1 if report and report.failed else 0

    return run_with_context(command)


if __name__ == "__main__":
    run_script(trigger_scheduler)
