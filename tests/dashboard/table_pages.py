"""Parse pages with tables for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import httpx
from sqlalchemy import event

from scrapersky.db.session import Database

MOST_QUERIES = 8
MOST_BYTES = 150_000


class Links(HTMLParser):
    """The addresses of links, by what they say."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._at: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self._at = given.get("href")
            if label := given.get("aria-label"):
                self.found[label] = self._at or ""

    def handle_data(self, data: str) -> None:
        if self._at is not None and data.strip():
            self.found.setdefault(data.strip(), self._at)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._at = None


def asked(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query)


async def page(client: httpx.AsyncClient, address: str) -> str:
    answer = await client.get(address)
    assert answer.status_code == 200, answer.text
    return answer.text


def names(html: str) -> list[str]:
    """Of businesses, in the order they stand there."""
    return [text for text in Links(html).found if text.startswith("Business ")]


OURS: ContextVar[bool] = ContextVar("OURS", default=False)


@contextmanager
def counting(database: Database) -> Iterator[list[str]]:
    """The statements of what happens here; chores that go on beside it are not told of it."""
    said: list[str] = []

    def note(*told: object) -> None:
        if OURS.get():
            said.append(str(told[2]))

    engine, mark = database.engine.sync_engine, OURS.set(True)
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield said
    finally:
        event.remove(engine, "before_cursor_execute", note)
        OURS.reset(mark)
