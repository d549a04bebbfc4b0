"""The suppression list as the API shows and takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from scrapersky.contacts.schemas import Value, Words
from scrapersky.contacts.suppressions import Line, Outcome, Wanted
from scrapersky.models import SuppressionKind

MAX_LINES = 10_000


class SuppressionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    kind: str = Field(examples=["email"])
    value: str | None = Field(description="Null of a person who was erased.")
    reason: str | None
    created_by: UUID
    created_at: datetime


class SuppressionIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: Value = Field(
        description="An address, a domain (`acme.com`, `@acme.com`), or a number with its country.",
        examples=["anna.berger@bakery.de"],
    )
    kind: SuppressionKind | None = Field(
        default=None, description="Left out: what the value looks like."
    )
    reason: Words | None = None

    def wanted(self) -> Wanted:
        return Wanted(self.value, self.kind, self.reason)


class SuppressionsIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[SuppressionIn] = Field(min_length=1, max_length=MAX_LINES)


class LineOut(BaseModel):
    """What came of one of them, in the order they were given."""

    model_config = ConfigDict(from_attributes=True)

    given: str
    outcome: Outcome
    kind: SuppressionKind | None
    value: str | None = Field(description="Its one spelling.")
    error: str | None
    id: UUID | None


class SuppressedOut(BaseModel):
    added: int
    already_there: int
    refused: int
    lines: list[LineOut]


def suppressed_out(lines: Sequence[Line]) -> SuppressedOut:
    counts = Counter(each.outcome for each in lines)
    return SuppressedOut(
        added=counts[Outcome.ADDED],
        already_there=counts[Outcome.ALREADY_THERE],
        refused=counts[Outcome.REFUSED],
        lines=[LineOut.model_validate(each) for each in lines],
    )
