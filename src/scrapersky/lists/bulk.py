"""Bulk operations on rows selected by id or by the filters of their list, with dry run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fastapi import Body
from pydantic import BaseModel, Field, create_model, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.lists.filters import VALID_YEARS, FilterText, FilterValues, build_owner_condition
from scrapersky.lists.listing import Listing, ListParameters, build_dependency
from scrapersky.models import Actor, record
from scrapersky.pipeline.bulk import (
    CANCEL,
    MAX_BULK_ROWS,
    BulkOptions,
    StatusTransition,
    cancel_rows,
    count_rows,
    get_last_due,
    matches_ids,
    restart_rows,
)
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Settings

MAX_IDS = 10_000
MAX_PER_MINUTE = 1_000_000


class BulkGroup(BaseModel):
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
    groups: list[BulkGroup]
    last_due_at: datetime | None = Field(
        default=None, description="Of a spread act: give it as `starting_at` to go on from there."
    )


@dataclass(frozen=True)
class BulkRequest:
    """What somebody wants done, and to which rows."""

    given: FilterValues = field(default_factory=dict)
    ids: tuple[UUID, ...] | None = None
    dry_run: bool = False
    limit: int = MAX_BULK_ROWS
    note: str | None = None
    also_processing: bool = False
    per_minute: float | None = None
    starting_at: datetime | None = None

    def conditions(self, listing: Listing, actor: Actor) -> list[ColumnElement[bool]]:
        if self.ids is None:
            return listing.conditions(self.given, actor)
        return [
            build_owner_condition(listing.model, actor),
            matches_ids(listing.model.id, self.ids),
        ]

    def build_options(self, actor: Actor) -> BulkOptions:
        return BulkOptions(
            by=actor.user_id,
            note=self.note,
            limit=self.limit,
            also_processing=self.also_processing,
            per_minute=self.per_minute,
            starting_at=self.starting_at,
        )

    def to_details(self) -> dict[str, Any]:
        """For the audit log: what was meant."""
        meant = {name: _to_plain(value) for name, value in self.given.items()}
        ids = None if self.ids is None else len(self.ids)
        return {"filter": meant or None, "ids": ids, "note": self.note}

    def build_response(self, groups: Iterable[BulkGroup], updated: int | None) -> BulkOut:
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


def _to_plain(value: Any) -> Any:
    return [str(each) for each in value] if isinstance(value, list) else str(value)


class BulkIn(ListParameters):
    """Which rows: `ids`, or a `filter`, or `all` of them."""

    ids: list[UUID] | None = Field(default=None, max_length=MAX_IDS)
    filter: ListParameters | None = None
    all: bool = Field(default=False, description="Has to be said when the filter is empty.")
    dry_run: bool = Field(default=False, description="Count them and change nothing.")
    limit: int = Field(default=MAX_BULK_ROWS, ge=1, le=MAX_BULK_ROWS, description="Rows at most.")
    note: FilterText | None = Field(default=None, description="Why, for whoever wonders later.")

    @model_validator(mode="after")
    def _check_selection(self) -> BulkIn:
        if self.ids is not None and (self.filter is not None or self.all):
            raise PydanticCustomError("which", "give either ids or a filter")
        if self.ids is None and not self.all and self._matches_everything():
            raise PydanticCustomError(
                "which", 'an empty filter means every row; say "all": true if that is meant'
            )
        return self

    def _matches_everything(self) -> bool:
        return self.filter is None or self.filter == type(self.filter)()


class SpreadOptions(BaseModel):
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
    def _check_start(self) -> SpreadOptions:
        if self.starting_at is not None and self.starting_at.year not in VALID_YEARS:
            raise PydanticCustomError(
                "starting_at", "starting_at is no moment that can be waited for"
            )
        return self


class ProcessingOptions(BaseModel):
    also_processing: bool = Field(
        default=False, description="Whether rows that are being worked lose their claim."
    )


def build_bulk_dependency(
    listing: Listing, act: str, *, more: Sequence[type[BaseModel]] = ()
) -> Callable[..., BulkRequest]:
    """A dependency that reads what is to be done to rows of this list."""
    narrowed: Any = (listing.filter_model | None, Field(default=None))
    bases: Any = (BulkIn, *more)
    model: Any = create_model(f"{act}{listing.name}In", __base__=bases, filter=narrowed)

    def read(wanted: BulkIn) -> BulkRequest:
        return build_bulk_request(listing, wanted)

    return build_dependency(read, "wanted", model, Body())


def build_bulk_request(listing: Listing, wanted: BulkIn, *, but: Iterable[str] = ()) -> BulkRequest:
    """What was sent as a bulk act takes it; `but` are fields that are no business of its."""
    chosen = wanted.filter if wanted.filter is not None else listing.filter_model()
    plain = wanted.model_dump(exclude={"ids", "filter", "all", *but})
    if plain.get("starting_at") is not None and plain["starting_at"].tzinfo is None:
        plain["starting_at"] = plain["starting_at"].replace(tzinfo=UTC)
    ids = None if wanted.ids is None else tuple(wanted.ids)
    return BulkRequest(ids=ids, given=chosen.get_values() if ids is None else {}, **plain)


@dataclass(frozen=True)
class BulkOperation:
    """An act on what somebody chose: how much of a stage it would take, and taking it."""

    name: str
    """For the audit log: `job.cancel`."""
    count: Callable[[AnyStage, BulkOptions], Awaitable[list[BulkGroup]]]
    do: Callable[[AnyStage, BulkOptions], Awaitable[list[UUID]]]


async def execute(
    session: AsyncSession,
    actor: Actor,
    deed: BulkOperation,
    stages: Sequence[AnyStage],
    asked: BulkRequest,
) -> BulkOut:
    """Count, and unless that was all that was wanted, act; both are in the answer."""
    manner = asked.build_options(actor)
    groups = [group for stage in stages for group in await deed.count(stage, manner)]
    updated, latest = 0, None
    for stage in () if asked.dry_run else stages:
        ids = await deed.do(stage, replace(manner, limit=manner.limit - updated))
        updated += len(ids)
        if manner.per_minute is not None:
            latest = _get_latest(latest, await get_last_due(session, stage, ids))
    if not asked.dry_run:
        names = ", ".join(each.name for each in stages)
        record(session, actor, deed.name, names, **asked.to_details(), updated=updated)
    answer = asked.build_response(groups, None if asked.dry_run else updated)
    return answer.model_copy(update={"last_due_at": latest})


def _get_latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((each for each in (one, other) if each is not None), default=None)


def build_row_operation(
    session: AsyncSession,
    actor: Actor,
    act: StatusTransition,
    asked: BulkRequest,
    *,
    name: str,
    listing: Callable[[AnyStage], Listing],
    settings: Settings,
) -> BulkOperation:
    """An act on rows of stages, chosen as the list that shows them does."""

    async def count(stage: AnyStage, manner: BulkOptions) -> list[BulkGroup]:
        where = asked.conditions(listing(stage), actor)
        found = await count_rows(session, stage, act, where, manner)
        return [BulkGroup(stage=stage.name, status=word, count=n) for word, n in found.items()]

    async def do(stage: AnyStage, manner: BulkOptions) -> list[UUID]:
        where = asked.conditions(listing(stage), actor)
        if act is CANCEL:
            return await cancel_rows(session, stage, where, manner=manner, settings=settings)
        return await restart_rows(session, stage, act, where, manner=manner)

    return BulkOperation(name, count, do)
