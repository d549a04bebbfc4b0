"""`scrapersky stage pace`: change how fast a stage goes while the workers run."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.options import StageName
from scrapersky.cli.output import out
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.operations import flow, service
from scrapersky.pipeline.flow import CHANGEABLE
from scrapersky.stages import STAGES

AS_SET = "as set"
"""Takes a change back: what the settings say."""

Given = Annotated[str | None, typer.Option(metavar="NUMBER", help=f"Or '{AS_SET}'.")]


def pace(
    name: StageName,
    concurrency: Given = None,
    batch_size: Given = None,
    interval_minutes: Given = None,
    high_water: Given = None,
) -> int:
    """Change how fast a stage goes, in every process, without a restart."""
    stage = service.find_stage(STAGES, name)
    given = (interval_minutes, batch_size, concurrency, high_water)
    changes = {
        name: _number(name, text)
        for name, text in zip(CHANGEABLE, given, strict=True)
        if text is not None
    }

    async def step(session: AsyncSession, everything: Opened) -> dict[str, Any]:
        return await flow.change_pace(session, everything.actor, stage, changes)

    def show(changed: dict[str, Any]) -> None:
        said = ", ".join(f"{key} {value}" for key, value in changed.items())
        out.print(f"{stage.name}: {said or 'as the settings say'}", highlight=False)

    return run_in_transaction(step, show)


def _number(name: str, text: str) -> float | None:
    if text.strip().lower() == AS_SET:
        return None
    try:
        return int(text) if name in flow.WHOLE else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor '{AS_SET}'.") from None
