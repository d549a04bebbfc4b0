"""Answers from the web as values, and what a reader of the web needs to be given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from multidict import CIMultiDict

from scrapersky.scraper.addresses import AddressRules
from scrapersky.scraper.body import Body
from scrapersky.scraper.politeness import ErrorKind, parse_retry_after

_INCONCLUSIVE = frozenset({401, 403, 408, 425, 429})


def is_inconclusive(status: int) -> bool:
    """An answer that does not say whether there is something: a closed door, or trouble."""
    return status in _INCONCLUSIVE or status >= 500


@dataclass(frozen=True)
class Redirect:
    """One hop that was followed."""

    status: int
    url: str
    location: str

    @property
    def is_downgrade(self) -> bool:
        return self.url.startswith("https:") and self.location.startswith("http:")


@dataclass(frozen=True)
class Response:
    """An answer, read as far as the limits allowed."""

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    body: bytes
    """With the content encoding undone."""
    truncated: str | None = None
    """Why the body's end is missing, or None when it was read whole."""
    elapsed_ms: int = 0
    redirects: tuple[Redirect, ...] = ()
    network_bytes: int = 0
    digest: str | None = None
    """BLAKE2b of the body as it came, in hex; None when it was not read whole."""

    def __getstate__(self) -> dict[str, Any]:
        """Headers as they come from the network are a view, which cannot be pickled."""
        return {**self.__dict__, "headers": CIMultiDict(self.headers)}

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))


class StreamedResponse:
    """An answer whose body is read in pieces; `truncated` and `digest` are known at its end."""

    def __init__(
        self, url: str, *, body: Body, elapsed_ms: int, redirects: tuple[Redirect, ...]
    ) -> None:
        self.url = url
        self.final_url = redirects[-1].location if redirects else url
        self.status = body.answer.status
        self.headers: Mapping[str, str] = body.answer.headers
        self.elapsed_ms = elapsed_ms
        """Until the headers came."""
        self.redirects = redirects
        self._body = body

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, decoded, in pieces of at most 256 KiB."""
        return self._body.pieces()

    @property
    def truncated(self) -> str | None:
        return self._body.truncated

    @property
    def hit_limit(self) -> bool:
        """The body was cut by a limit of ours."""
        return self._body.hit_limit

    @property
    def timed_out(self) -> bool:
        """The host did not send the body in time."""
        return self._body.error is ErrorKind.TIMED_OUT

    @property
    def too_slow(self) -> bool:
        """It sent next to nothing in that time."""
        return self._body.too_slow

    @property
    def network_bytes(self) -> int:
        return self._body.network_bytes

    @property
    def digest(self) -> str | None:
        return self._body.digest

    @property
    def retry_after_seconds(self) -> float | None:
        return parse_retry_after(self.headers.get("Retry-After"))


CheckRedirect = Callable[[str], None]
"""Given where a redirect leads; raises `FetchFailed` when it is not to be followed."""


class Fetches(Protocol):
    """What a reader of the web needs to be given."""

    @property
    def rules(self) -> AddressRules: ...

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Response: ...

    async def get_robots(
        self,
        url: str,
        *,
        etag: str | None = None,
        last_modified: str | None = None,
        has_fallback: bool = False,
    ) -> Response: ...

    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        check_redirect: CheckRedirect | None = None,
    ) -> AbstractAsyncContextManager[StreamedResponse]: ...

    async def set_crawl_delay(self, url: str, seconds: float) -> None: ...
