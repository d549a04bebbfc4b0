"""The `Stage` value: model, status column, pace and the functions read, work and store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import Base
from scrapersky.pipeline.queue import QueueColumns, StatusNames, follow_status, queue_columns
from scrapersky.scraper.html.parser_pool import ParserPool
from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.robots import RobotsCache
from scrapersky.settings import Pace, Settings

Row = TypeVar("Row", bound=Base)
Item = TypeVar("Item")
Result = TypeVar("Result")


class StoreImmediately:
    """Base of results that are stored before the work continues.

    Used for what must be recorded or approved before the next request is sent. Its store may end
    the work by raising. It is never the last result.
    """


@dataclass(frozen=True)
class Tools:
    """What a stage's work receives: the fetcher, the settings and the parser pool.

    Deliberately without a session, so that work cannot hold a connection.
    """

    fetch: Fetcher
    settings: Settings
    parser: ParserPool = field(default_factory=ParserPool)
    robots: RobotsCache = field(init=False)
    """Cached robots.txt rules by host."""

    def __post_init__(self) -> None:
        memory = RobotsCache(self.fetch, user_agent=self.settings.fetch_user_agent)
        object.__setattr__(self, "robots", memory)


@dataclass(frozen=True, kw_only=True)
class Stage(Generic[Row, Item, Result]):
    """One step of the pipeline. Everything that lists stages reads them from `stages.py`."""

    name: str
    """APScheduler id, CLI argument, log field, part of the URL."""
    does: str
    """One sentence for people."""
    workflow: str | None = None
    """Its number in the design documents, WF1 to WF7, if it has one."""
    model: type[Row]
    status: str
    """The status column; its queue columns share its prefix."""
    words: StatusNames
    prefix: str
    """Prefix of its settings: `<PREFIX>_INTERVAL_MINUTES` and six more."""
    pace: Pace = field(default_factory=Pace)

    read: Callable[[Row], Item]
    """Copy what the work needs, when the row is claimed.

    An unreadable row fails without affecting others.
    """
    prepare: Callable[[AsyncSession, Item], Awaitable[Item]] | None = None
    """Load what is not in the row itself, in a short read-only session before the work."""
    work: Callable[[Item, Tools], Awaitable[Result] | AsyncIterator[Result]]
    """Do the slow work, outside any transaction.

    Returns one result or yields many. Each is stored as it comes, the last one in the transaction
    that completes the row, unless `stores_separately` is set.
    """
    store: Callable[[AsyncSession, Row, Result], Awaitable[None]] | None = None
    """Store a result in a short transaction, only while the claim is held.

    Must be idempotent, because it may be repeated.
    """
    stores_separately: bool = False
    """Whether every result is stored in its own transaction, and none with the row's completion.

    Completions are committed in batches. A store that locks rows which several queue rows share,
    such as their domain, could deadlock with another batch that locks them in another order.
    """
    gave_up: Callable[[AsyncSession, Row, str], Awaitable[None]] | None = None
    """Called with the error message when the row fails permanently, in the same transaction."""
    cancelled: Callable[[AsyncSession, Sequence[UUID], Settings], Awaitable[None]] | None = None
    """Called with the ids of rows that people cancelled, in the same transaction."""

    only: Mapping[str, str] = field(default_factory=dict)
    """A fixed filter, for stages that share a table, e.g. {"job_type": "sitemap"}."""
    priority: str | None = None
    """A column that orders the queue before the due time."""
    host: str | None = None
    """The column with the host that a row's work sends requests to. Rows are then claimed by host.

    It comes first in the queue's index. An empty value means that the host is not known yet.
    """
    proves_hosts: bool = False
    """Whether the work sends requests through the host gate, which records the hosts that answer.

    Rows of hosts that have not answered yet, or have timed out since, are then claimed one per host
    and into separate slots.
    """
    started: str | None = None
    finished: str | None = None
    """Columns for the time when a row's work started and ended, if the model has them."""
    curation: str | None = None
    """The curation column that mirrors the status, where people follow a row's progress.

    The engine sets it in the same statement as the status.
    """
    fresh: Mapping[str, Any] = field(default_factory=dict)
    """Values that further columns are reset to when a row starts over."""
    feeds: tuple[str, ...] = ()
    """The stages that continue with what this one stores."""
    aliases: tuple[str, ...] = ()
    """Former names of this stage."""

    @cached_property
    def queue(self) -> QueueColumns:
        return queue_columns(self.model, self.status)

    def follow(self, status: ColumnElement[str] | str) -> dict[Any, Any]:
        """Return the additional columns that an UPDATE to this status must set."""
        if self.curation is None:
            return {}
        column = getattr(self.model, self.curation)
        return {column: follow_status(column, self.words, status)}

    def get_pace(self, settings: Settings) -> Pace:
        return settings.pace(self.prefix, self.pace)


AnyStage = Stage[Any, Any, Any]
