"""Rate limit per caller with token buckets.

The buckets live in the memory of each process. Counting in the database would cost every request a
write to a row that all requests of a caller contend for; instead, N processes together allow N
times the limit.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapersky.http.credentials import get_credentials, get_session_token
from scrapersky.http.problems import build_problem
from scrapersky.settings import Settings

MAX_REMEMBERED_CALLERS = 10_000
"""Size of each cache: buckets and verified credentials. An evicted caller starts with a full
bucket.
"""
IPV6_PREFIX_BITS = 64
"""A provider assigns a customer a whole /64, so its addresses share a bucket."""

Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """Mapping that evicts the least recently used value."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()

    def get(self, name: str) -> Value | None:
        if name in self._values:
            self._values.move_to_end(name)
        return self._values.get(name)

    def store(self, name: str, value: Value) -> Value:
        self._values[name] = value
        self._values.move_to_end(name)
        if len(self._values) > self._size:
            self._values.popitem(last=False)
        return value


@dataclass
class TokenBucket:
    """Token bucket of one caller."""

    capacity: int
    per_second: float
    tokens: float
    at: float

    def take(self, now: float) -> bool:
        self.tokens = min(self.capacity, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    @property
    def seconds_to_next(self) -> int:
        return max(1, math.ceil((1 - self.tokens) / self.per_second))

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self.capacity),
            "RateLimit-Remaining": str(int(self.tokens)),
            "RateLimit-Reset": str(math.ceil((self.capacity - self.tokens) / self.per_second)),
        }


class RateLimitMiddleware:
    """Limits all routes except the health checks.

    Credentials are not verified here. Requests with credentials that were valid before count for
    their owner; all others count for their address, so that guessing is limited too.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, *, now: Callable[[], float] = monotonic
    ) -> None:
        self._app = app
        self._now = now
        self._per_second = settings.rate_limit_per_minute / 60
        self._burst = settings.rate_limit_burst
        self._buckets: LRUCache[TokenBucket] = LRUCache(MAX_REMEMBERED_CALLERS)
        self._known: LRUCache[str] = LRUCache(MAX_REMEMBERED_CALLERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._per_second or _is_health_check(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        credentials = _hash_credentials(request)
        caller = self._known.get(credentials) if credentials else None
        bucket = self._bucket(caller or get_client_address(request))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(bucket.headers())
                self._remember(credentials, request)
            await send(message)

        if bucket.take(self._now()):
            await self._app(scope, receive, send_with_headers)
        else:
            await self._refuse(request, bucket)(scope, receive, send_with_headers)

    def _bucket(self, caller: str) -> TokenBucket:
        bucket = self._buckets.get(caller)
        if bucket is not None:
            return bucket
        fresh = TokenBucket(self._burst, self._per_second, tokens=self._burst, at=self._now())
        return self._buckets.store(caller, fresh)

    def _remember(self, credentials: str | None, request: Request) -> None:
        """Store the owner of valid credentials; the route has identified it by the time it
        responds.
        """
        identity = getattr(request.state, "identity", None)
        if credentials and identity is not None:
            self._known.store(credentials, identity.id)

    def _refuse(self, request: Request, bucket: TokenBucket) -> ASGIApp:
        seconds = bucket.seconds_to_next
        answer = build_problem(request, 429, f"Too many requests. Retry in {seconds} s.")
        answer.headers["Retry-After"] = str(seconds)
        return answer


def _is_health_check(path: str) -> bool:
    return path == "/health" or path.startswith("/health/")


def _hash_credentials(request: Request) -> str | None:
    """Return a hash, so that no usable credentials stay in memory."""
    credentials = get_credentials(request) or get_session_token(request)
    return hashlib.sha256(credentials.encode()).hexdigest() if credentials else None


def get_client_address(request: Request) -> str:
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"address:{host}"
    if address.version == 6:
        return f"address:{ipaddress.ip_network((address, IPV6_PREFIX_BITS), strict=False)}"
    return f"address:{address}"
