"""Canned responses without a network, for tests with a thousand of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hypothesis import strategies as st

from scrapersky.scraper.http.fetch import Fetcher
from scrapersky.scraper.http.limits import FetchLimits
from scrapersky.scraper.http.responses import Response

texts = st.text(st.characters(), max_size=20)
"""Lone surrogates and NUL among them."""
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | texts
    | st.sampled_from(["", "places/x", "+49 341 1", "PRICE_LEVEL_FREE", 1e308, -181, 10**400]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def response(body: bytes, status: int = 200, **more: Any) -> Response:
    headers: Mapping[str, str] = more.pop("headers", {})
    url = "http://provider.example/"
    return Response(url=url, final_url=url, status=status, headers=headers, body=body, **more)


class Canned:
    """Says the same to everybody."""

    def __init__(self, answer: Response) -> None:
        self.answer = answer
        self.limits = FetchLimits()
        self.asked: list[str] = []

    async def ask(self, url: str, body: bytes | None = None, **more: object) -> Response:
        self.asked.append(url)
        return self.answer

    async def set_crawl_delay(self, url: str, seconds: float) -> None:
        """Nobody waits here."""


def fetcher_that_says(answer: Response) -> Fetcher:
    return cast(Fetcher, Canned(answer))


@st.composite
def spoiled(draw: st.DrawFn, document: Any) -> Any:
    """The document with something else in one place of it."""
    if draw(st.booleans()) or not document or not isinstance(document, dict | list):
        return draw(json_values)
    if isinstance(document, list):
        index = draw(st.integers(0, len(document) - 1))
        return [*document[:index], draw(spoiled(document[index])), *document[index + 1 :]]
    name = draw(st.sampled_from(sorted(document)))
    return {**document, name: draw(spoiled(document[name]))}
