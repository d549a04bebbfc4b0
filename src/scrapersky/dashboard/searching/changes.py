"""What a search found otherwise than the run before it, as its page tells it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import Job
from scrapersky.places.search_changes import (
    Change,
    ChangeKind,
    changes_between,
    previous_run,
    tells_what_is_gone,
)

SHOWN = 15


@dataclass(frozen=True)
class Changes:
    before: UUID
    """The run that this one is held against."""
    shown: tuple[Change, ...]
    more: bool
    knows_what_is_gone: bool
    """Only when all of the area was looked at."""

    def words(self, change: Change) -> list[tuple[str, str, str]]:
        """Each fact that changed: its name, how it was, how it is."""
        return [
            (name.replace("_", " "), _said(before), _said(after))
            for name, (before, after) in change.changes.items()
        ]


async def changes_of(session: AsyncSession, job: Job) -> Changes | None:
    """Nothing for a first run."""
    before = await previous_run(session, job)
    if before is None:
        return None
    found = await changes_between(
        session, before, job, kinds=tuple(ChangeKind), after=None, limit=SHOWN + 1
    )
    return Changes(before.id, tuple(found[:SHOWN]), len(found) > SHOWN, tells_what_is_gone(job))


def _said(value: object) -> str:
    if value is None or value == "" or value == []:
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
