"""What people may decide about a row, with the keys that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from scrapersky.http.lists import Curation
from scrapersky.models import Actor, Role

KEYS = {
    "Selected": "s",
    "Maybe": "m",
    "Not a Fit": "n",
    "Skipped": "n",
    "Archived": "a",
    "New": "",
}
"""Other words are for the stages that go on with a row, and nobody's to choose."""


@dataclass(frozen=True)
class Choice:
    word: str
    key: str
    """Empty where there is none."""
    chosen: bool


@dataclass(frozen=True)
class Deciding:
    """Where decisions about one row go, and which there are."""

    rows: str
    """As their list is called, in our addresses and in the API's."""
    row_id: UUID
    status: str
    choices: tuple[Choice, ...]
    queues: bool
    """Whether selecting it has its next stage begin."""


def deciding(curation: Curation, row: Any) -> Deciding:
    status: str = getattr(row, curation.column.key)
    choices = tuple(
        Choice(word, key, word == status)
        for word, key in KEYS.items()
        if word in curation.decisions
    )
    return Deciding(curation.rows, row.id, status, choices, curation.queues is not None)


def rights(actor: Actor) -> dict[str, bool]:
    """For templates: what one may not do is not offered."""
    return {
        "may_curate": actor.role.includes(Role.CURATOR),
        "may_admin": actor.role.includes(Role.ADMIN),
    }
