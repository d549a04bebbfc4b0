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
    """A result that is stored before the work goes on, and whose store may put an end to it: what
    must be written down, or allowed, before the next request is sent. It is never the last."""


@dataclass(frozen=True)
class Tools:
    """What work is given: the polite fetcher, the settings and the processes that read pages. No
    session, on purpose."""

    fetch: Fetcher
    settings: Settings
    parser: ParserPool = field(default_factory=ParserPool)
    robots: RobotsCache = field(init=False)
    """What the robots.txt of a page's host says, remembered for a while."""

    def __post_init__(self) -> None:
        memory = RobotsCache(self.fetch, user_agent=self.settings.fetch_user_agent)
        object.__setattr__(self, "robots", memory)


@dataclass(frozen=True, kw_only=True)
class Stage(Generic[Row, Item, Result]):
    """One step of the pipeline; everything that lists stages picks it up from `stages.py`."""

    name: str
    """APScheduler id, CLI argument, log field, part of the URL."""
    does: str
    """One sentence for people."""
    workflow: str | None = None
    """Its number in the design documents, if it has one there: WF1 to WF7."""
    model: type[Row]
    status: str
    """The status column; its queue columns share its prefix."""
    words: StatusNames
    prefix: str
    """Of its settings: `<PREFIX>_INTERVAL_MINUTES` and six more."""
    pace: Pace = field(default_factory=Pace)

    read: Callable[[Row], Item]
    """In the claim's transaction: copy what the work needs. An unreadable row fails alone."""
    prepare: Callable[[AsyncSession, Item], Awaitable[Item]] | None = None
    """In a short reading session before the work, for what does not stand in the row itself."""
    work: Callable[[Item, Tools], Awaitable[Result] | AsyncIterator[Result]]
    """Outside any transaction. May return one result, or yield many: each is stored as it comes,
    the last one in the transaction that completes the row."""
    store: Callable[[AsyncSession, Row, Result], Awaitable[None]] | None = None
    """In a short transaction, only while the claim is ours. May happen twice; must store once."""
    gave_up: Callable[[AsyncSession, Row, str], Awaitable[None]] | None = None
    """Told, with the sentence, when the row fails for good; in the same transaction."""
    cancelled: Callable[[AsyncSession, Sequence[UUID], Settings], Awaitable[None]] | None = None
    """Told which rows people took out of the queue; in the same transaction."""

    only: Mapping[str, str] = field(default_factory=dict)
    """A fixed filter where several stages share a table, e.g. {"job_type": "sitemap"}."""
    priority: str | None = None
    """A column that orders the queue before the due time."""
    host: str | None = None
    """The column that says which host a row's work asks; rows are then claimed host by host. It
    stands first in the queue's index; empty means that nobody knows yet."""
    proves_hosts: bool = False
    """Its work asks hosts through the gate, which notes who answers. The rows of hosts that have
    not answered yet, or not lately, are then claimed one per host, and into slots of their own."""
    started: str | None = None
    finished: str | None = None
    """Columns that note when a row's work began and ended, if the model has such."""
    curation: str | None = None
    """The curation column that follows the status, where people see there how far a row has come.
    The engine sets it in the statement that sets the status."""
    fresh: Mapping[str, Any] = field(default_factory=dict)
    """Columns beside the queue's own that a row begins with when it starts over."""
    feeds: tuple[str, ...] = ()
    """The stages that go on with what this one stores."""
    aliases: tuple[str, ...] = ()
    """Names this stage had before."""

    @cached_property
    def queue(self) -> QueueColumns:
        return queue_columns(self.model, self.status)

    def follow(self, status: ColumnElement[str] | str) -> dict[Any, Any]:
        """What an UPDATE that sets this status sets besides."""
        if self.curation is None:
            return {}
        column = getattr(self.model, self.curation)
        return {column: follow_status(column, self.words, status)}

    def get_pace(self, settings: Settings) -> Pace:
        return settings.pace(self.prefix, self.pace)


AnyStage = Stage[Any, Any, Any]
