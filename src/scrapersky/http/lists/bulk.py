"""Acts on many rows: chosen by their ids or by the filters of their list, tried first if wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fastapi import Body
from pydantic import BaseModel, Field, create_model, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement

from scrapersky.http.lists.filters import Given
from scrapersky.http.lists.listing import Listing, Narrowed, with_model
from scrapersky.http.lists.ownership import owned_by
from scrapersky.http.lists.texts import YEARS, Text
from scrapersky.models import Actor
from scrapersky.pipeline.bulk_acts import AT_ONCE, Manner, is_one_of

MAX_IDS = 10_000
MAX_PER_MINUTE = 1_000_000


class Group(BaseModel):
    """How many of one kind there are among the rows that fit."""

    stage: str = Field(examples=["process_pending_sitemaps"])
    status: str | None = Field(default=None, examples=["failed"])
    error_class: str | None = Field(default=None, examples=["TimeoutError"])
    count: int


class BulkOut(BaseModel):
    """What was done, or with `dry_run` what would be."""

    matched_count: int = Field(description="Rows that fit and are in a state that allows it.")
    updated_count: int
    left_alone_count: int = Field(
        description="Rows that were taken by somebody else before, are in another state by now, "
        "or cannot be active beside another row for the same thing."
    )
    remaining_count: int = Field(description="Rows over `limit`: ask again for them.")
    dry_run: bool
    groups: list[Group]
    last_due_at: datetime | None = Field(
        default=None, description="Of a spread act: give it as `starting_at` to go on from there."
    )


@dataclass(frozen=True)
class BulkAsked:
    """What somebody wants done, and to which rows."""

    given: Given = field(default_factory=dict)
    ids: tuple[UUID, ...] | None = None
    dry_run: bool = False
    limit: int = AT_ONCE
    note: str | None = None
    also_processing: bool = False
    per_minute: float | None = None
    starting_at: datetime | None = None

    def conditions(self, listing: Listing, actor: Actor) -> list[ColumnElement[bool]]:
        if self.ids is None:
            return listing.conditions(self.given, actor)
        return [owned_by(listing.model, actor), is_one_of(listing.model.id, self.ids)]

    def manner(self, actor: Actor) -> Manner:
        return Manner(
            by=actor.user_id,
            note=self.note,
            limit=self.limit,
            also_processing=self.also_processing,
            per_minute=self.per_minute,
            starting_at=self.starting_at,
        )

    def as_details(self) -> dict[str, Any]:
        """For the audit log: what was meant."""
        meant = {name: _plain(value) for name, value in self.given.items()}
        ids = None if self.ids is None else len(self.ids)
        return {"filter": meant or None, "ids": ids, "note": self.note}

    def answer(self, groups: Iterable[Group], updated: int | None) -> BulkOut:
        """`updated` is None when nothing was tried."""
        listed = [each for each in groups if each.count]
        matched = sum(each.count for each in listed)
        considered = min(matched, self.limit)
        meant = considered if self.ids is None else max(len(set(self.ids)), considered)
        return BulkOut(
            matched_count=matched,
            updated_count=updated or 0,
            left_alone_count=max(meant - (matched if updated is None else updated), 0),
            remaining_count=matched - considered,
            dry_run=self.dry_run,
            groups=listed,
        )


def _plain(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list) else str(value)


class BulkIn(Narrowed):
    """Which rows: `ids`, or a `filter`, or `all` of them."""

    ids: list[UUID] | None = Field(default=None, max_length=MAX_IDS)
    filter: Narrowed | None = None
    all: bool = Field(default=False, description="Has to be said when the filter is empty.")
    dry_run: bool = Field(default=False, description="Count them and change nothing.")
    limit: int = Field(default=AT_ONCE, ge=1, le=AT_ONCE, description="Rows at most.")
    note: Text | None = Field(default=None, description="Why, for whoever wonders later.")

    @model_validator(mode="after")
    def _says_which(self) -> BulkIn:
        if self.ids is not None and (self.filter is not None or self.all):
            raise PydanticCustomError("which", "give either ids or a filter")
        if self.ids is None and not self.all and self._matches_everything():
            raise PydanticCustomError(
                "which", 'an empty filter means every row; say "all": true if that is meant'
            )
        return self

    def _matches_everything(self) -> bool:
        return self.filter is None or self.filter == type(self.filter)()


class Spread(BaseModel):
    """For acts that queue rows."""

    per_minute: float | None = Field(
        default=None,
        ge=0.01,
        le=MAX_PER_MINUTE,
        description="How many rows of a stage become due in a minute; all at once when left out.",
    )
    starting_at: datetime | None = Field(
        default=None, description="When the first becomes due; now when left out."
    )

    @model_validator(mode="after")
    def _can_be(self) -> Spread:
        if self.starting_at is not None and self.starting_at.year not in YEARS:
            raise PydanticCustomError(
                "starting_at", "starting_at is no moment that can be waited for"
            )
        return self


class Working(BaseModel):
    also_processing: bool = Field(
        default=False, description="Whether rows that are being worked lose their claim."
    )


def bulk_asked(
    listing: Listing, act: str, *, more: Sequence[type[BaseModel]] = ()
) -> Callable[..., BulkAsked]:
    """A dependency that reads what is to be done to rows of this list."""
    narrowed: Any = (listing.filter_model | None, Field(default=None))
    bases: Any = (BulkIn, *more)
    model: Any = create_model(f"{act}{listing.name}In", __base__=bases, filter=narrowed)

    def read(wanted: BulkIn) -> BulkAsked:
        return read_bulk(listing, wanted)

    return with_model(read, "wanted", model, Body())


def read_bulk(listing: Listing, wanted: BulkIn, *, but: Iterable[str] = ()) -> BulkAsked:
    """What was sent as a bulk act takes it; `but` are fields that are no business of its."""
    chosen = wanted.filter if wanted.filter is not None else listing.filter_model()
    plain = wanted.model_dump(exclude={"ids", "filter", "all", *but})
    if plain.get("starting_at") is not None and plain["starting_at"].tzinfo is None:
        plain["starting_at"] = plain["starting_at"].replace(tzinfo=UTC)
    ids = None if wanted.ids is None else tuple(wanted.ids)
    return BulkAsked(ids=ids, given=chosen.given() if ids is None else {}, **plain)
