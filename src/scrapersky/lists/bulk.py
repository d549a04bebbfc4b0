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
    """Number of matching rows of one stage, status and error class."""

    stage: str = Field(examples=["process_pending_sitemaps"])
    status: str | None = Field(default=None, examples=["failed"])
    error_class: str | None = Field(default=None, examples=["TimeoutError"])
    count: int


class BulkOut(BaseModel):
    """Result of a bulk operation, or its preview when `dry_run` is set."""

    matched_count: int = Field(
        description="Rows that match and are in a state that allows the operation."
    )
    updated_count: int
    left_alone_count: int = Field(
        description="Rows that were not changed: claimed or changed by another request in the "
        "meantime, or blocked by another active row for the same target."
    )
    remaining_count: int = Field(
        description="Matching rows beyond `limit`. Repeat the request for them."
    )
    dry_run: bool
    groups: list[BulkGroup]
    last_due_at: datetime | None = Field(
        default=None,
        description=(
            "Due time of the last row when `per_minute` is set. Pass it as `starting_at` to "
            "append the next batch."
        ),
    )


@dataclass(frozen=True)
class BulkRequest:
    """A validated bulk request: the selected rows and the options."""

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
        """Return the selection and the note for the audit log; ids only as their number."""
        meant = {name: _to_plain(value) for name, value in self.given.items()}
        ids = None if self.ids is None else len(self.ids)
        return {"filter": meant or None, "ids": ids, "note": self.note}

    def build_response(self, groups: Iterable[BulkGroup], updated: int | None) -> BulkOut:
        """Build the response; `updated` is None for a dry run."""
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
    """Selection of rows: `ids`, a `filter`, or `all`."""

    ids: list[UUID] | None = Field(default=None, max_length=MAX_IDS)
    filter: ListParameters | None = None
    all: bool = Field(
        default=False, description="Required to select every row with an empty filter."
    )
    dry_run: bool = Field(
        default=False, description="Count the matching rows without changing them."
    )
    limit: int = Field(
        default=MAX_BULK_ROWS,
        ge=1,
        le=MAX_BULK_ROWS,
        description="Maximum number of rows to change.",
    )
    note: FilterText | None = Field(default=None, description="Reason, stored with the action.")

    @model_validator(mode="after")
    def _check_selection(self) -> BulkIn:
        if self.ids is not None and (self.filter is not None or self.all):
            raise PydanticCustomError("which", "give either ids or a filter, not both")
        if self.ids is None and not self.all and self._matches_everything():
            raise PydanticCustomError(
                "which", 'an empty filter matches every row; set "all": true to confirm'
            )
        return self

    def _matches_everything(self) -> bool:
        return self.filter is None or self.filter == type(self.filter)()


class SpreadOptions(BaseModel):
    """Options of operations that queue rows: spread their due times."""

    per_minute: float | None = Field(
        default=None,
        ge=0.01,
        le=MAX_PER_MINUTE,
        description="Rows per stage that become due per minute. Default: all are due immediately.",
    )
    starting_at: datetime | None = Field(
        default=None, description="When the first row becomes due. Default: now."
    )

    @model_validator(mode="after")
    def _check_start(self) -> SpreadOptions:
        if self.starting_at is not None and self.starting_at.year not in VALID_YEARS:
            raise PydanticCustomError("starting_at", "starting_at is out of range")
        return self


class ProcessingOptions(BaseModel):
    also_processing: bool = Field(
        default=False,
        description="Include rows that a worker is processing; their claims are revoked.",
    )


def build_bulk_dependency(
    listing: Listing, act: str, *, more: Sequence[type[BaseModel]] = ()
) -> Callable[..., BulkRequest]:
    """Return a FastAPI dependency that parses a bulk request for this list."""
    narrowed: Any = (listing.filter_model | None, Field(default=None))
    bases: Any = (BulkIn, *more)
    model: Any = create_model(f"{act}{listing.name}In", __base__=bases, filter=narrowed)

    def read(wanted: BulkIn) -> BulkRequest:
        return build_bulk_request(listing, wanted)

    return build_dependency(read, "wanted", model, Body())


def build_bulk_request(listing: Listing, wanted: BulkIn, *, but: Iterable[str] = ()) -> BulkRequest:
    """Convert the request body to a `BulkRequest`; `but` names fields to leave out."""
    chosen = wanted.filter if wanted.filter is not None else listing.filter_model()
    plain = wanted.model_dump(exclude={"ids", "filter", "all", *but})
    if plain.get("starting_at") is not None and plain["starting_at"].tzinfo is None:
        plain["starting_at"] = plain["starting_at"].replace(tzinfo=UTC)
    ids = None if wanted.ids is None else tuple(wanted.ids)
    return BulkRequest(ids=ids, given=chosen.get_values() if ids is None else {}, **plain)


@dataclass(frozen=True)
class BulkOperation:
    """A bulk operation: how to count the rows of a stage it applies to, and how to apply it."""

    name: str
    """Action in the audit log, such as `job.cancel`."""
    count: Callable[[AnyStage, BulkOptions], Awaitable[list[BulkGroup]]]
    do: Callable[[AnyStage, BulkOptions], Awaitable[list[UUID]]]


async def execute(
    session: AsyncSession,
    actor: Actor,
    deed: BulkOperation,
    stages: Sequence[AnyStage],
    asked: BulkRequest,
) -> BulkOut:
    """Count the matching rows and, unless it is a dry run, apply the operation.

    The limit covers all stages together. The audit entry is written in the same transaction.
    """
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
    """Build an operation on stage rows that are selected with the filters of their list."""

    async def count(stage: AnyStage, manner: BulkOptions) -> list[BulkGroup]:
        where = asked.conditions(listing(stage), actor)
        found = await count_rows(session, stage, act, where, manner)
        return [BulkGroup(stage=stage.name, status=word, count=n) for word, n in found.items()]

    async def do(stage: AnyStage, manner: BulkOptions) -> list[UUID]:
        where = asked.conditions(listing(stage), actor)
        if act is CANCEL:
            return await cancel_rows(session, stage, where, options=manner, settings=settings)
        return await restart_rows(session, stage, act, where, options=manner)

    return BulkOperation(name, count, do)
