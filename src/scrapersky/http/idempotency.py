"""Execute a POST with an `Idempotency-Key` once and replay its stored response.

The response is stored in the transaction of the effect, so there is never one without the other.
That transaction therefore ends here, around the route, and not in the route. While a request is
under way its transaction holds an advisory lock on the key; a crash releases it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from fastapi import Depends, Request, Response
from sqlalchemy import BigInteger, cast, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapersky.db.session import Database
from scrapersky.errors import Conflict
from scrapersky.http.problems import build_problem
from scrapersky.logging import get_logger
from scrapersky.models import IdempotencyKey
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

DELETE_BATCH_ROWS = 5_000


async def delete_expired_keys(database: Database, _settings: Settings) -> int:
    """Delete expired keys in batches, to keep transactions short."""
    forgotten = 0
    while True:
        async with database.transaction() as session:
            old = (
                select(IdempotencyKey.tenant_id, IdempotencyKey.key)
                .where(IdempotencyKey.expires_at < func.now())
                .limit(DELETE_BATCH_ROWS)
                .with_for_update(skip_locked=True)
                .subquery()
            )
            gone = await session.execute(
                delete(IdempotencyKey)
                .where(IdempotencyKey.tenant_id == old.c.tenant_id, IdempotencyKey.key == old.c.key)
                .execution_options(synchronize_session=False)
            )
        count = int(gone.rowcount)  # type: ignore[attr-defined]
        forgotten += count
        if count < DELETE_BATCH_ROWS:
            return forgotten


CHORE = Chore(
    name="forget_idempotency_keys",
    does="Delete expired idempotency keys with their stored responses.",
    every=timedelta(minutes=10),
    run=delete_expired_keys,
)


NO_STORE = "no-store"


@dataclass
class BufferedResponse:
    """A route's response, held back until its effect is committed."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": bytes(self.body)})

    @property
    def is_storable(self) -> bool:
        """False for responses with a secret, which are marked `no-store`."""
        return NO_STORE not in Headers(raw=self.headers).get("cache-control", "")

    def get_stored_headers(self) -> dict[str, str]:
        return {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in self.headers
            if name.lower() != b"content-length"
        }


async def read_body(receive: Receive) -> bytes | None:
    """Read the whole body; None if the client disconnected before its end."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body again, then further messages."""
    unread = [body]

    async def receive_again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receive_again


KEY_HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
MAX_KEY_CHARACTERS = 255
RETRY_AFTER_SECONDS = 1
NO_FINGERPRINT = b""
MIN_THREADED_HASH_BYTES = 64 * 1024

log = get_logger(__name__)


class RequestNotExecuted(Conflict):
    """Raised to leave the route without an effect; `IdempotentRequest.instead` has the response."""


@dataclass
class IdempotentRequest:
    """One request with an idempotency key."""

    key: str
    fingerprint: bytes
    keep: timedelta
    request: Request
    instead: Response | None = None
    """Response to send if the request is not executed."""
    tenant_id: UUID | None = None
    session: AsyncSession | None = None
    failed: bool = False
    secret: bool = False
    """True if the request contains a secret; then not even its hash is stored."""
    _ending: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begin(self, database: Database, tenant_id: UUID) -> AsyncSession:
        """Open the transaction of the effect and lock the key.

        Raises `RequestNotExecuted` if the key is in use, was used for another request, or has a
        stored response.
        """
        session = await self._ending.enter_async_context(database.transaction())
        locked = await session.scalar(
            select(func.pg_try_advisory_xact_lock(self._build_lock_id(tenant_id)))
        )
        known = await _find_key(session, tenant_id, self.key) if locked else None
        self.instead = self._build_replay(known) if locked else self._build_busy_response()
        if self.instead is not None:
            raise RequestNotExecuted(f"{KEY_HEADER} {self.key} decides.")
        self.tenant_id, self.session = tenant_id, session
        return session

    def _build_lock_id(self, tenant_id: UUID) -> Any:
        name = hashlib.blake2b(f"{KEY_HEADER} {tenant_id} {self.key}".encode(), digest_size=8)
        return cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)

    def _build_busy_response(self) -> Response:
        answer = build_problem(
            self.request,
            409,
            f"A request with this {KEY_HEADER} is still running. Retry in {RETRY_AFTER_SECONDS} s.",
        )
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return answer

    def _build_replay(self, known: IdempotencyKey | None) -> Response | None:
        if known is None:
            return None
        if known.fingerprint not in (self.fingerprint, NO_FINGERPRINT):
            return build_problem(
                self.request,
                422,
                f"This {KEY_HEADER} was used for a different request. Use a new key per request.",
            )
        if known.body is None:
            return build_problem(
                self.request,
                409,
                f"This request was executed at {known.created_at:%Y-%m-%d %H:%M:%S} UTC. "
                "Its response contained a secret and was not stored.",
            )
        return Response(known.body, known.status, {**known.headers, REPLAYED_HEADER: "true"})

    async def end(self, database: Database, answer: BufferedResponse) -> None:
        """Store the response and commit the effect with it.

        A client error rolls the effect back; its response is stored in a separate transaction. A
        server error is not stored, so the client can retry.
        """
        if self.session is None:
            await self.undo()
        elif self.failed or answer.status >= 500:
            await self.undo()
            if answer.status < 500 and not self.secret:
                await self._store_refusal(database, answer)
        else:
            await self._store_response(self.session, answer)
            await self._ending.aclose()

    async def undo(self) -> None:
        undone = RequestNotExecuted("The request failed.")
        await self._ending.__aexit__(RequestNotExecuted, undone, None)

    async def _store_refusal(self, database: Database, answer: BufferedResponse) -> None:
        try:
            async with database.transaction() as session:
                await self._store_response(session, answer)
        except Exception as error:
            log.warning("could not store an idempotent response", error=str(error) or repr(error))

    async def _store_response(self, session: AsyncSession, answer: BufferedResponse) -> None:
        values = {
            "fingerprint": NO_FINGERPRINT if self.secret else self.fingerprint,
            "status": answer.status,
            "headers": answer.get_stored_headers(),
            "body": bytes(answer.body) if answer.is_storable else None,
            "created_at": func.now(),
            "expires_at": func.now() + self.keep,
        }
        await session.execute(
            insert(IdempotencyKey)
            .values(tenant_id=self.tenant_id, key=self.key, **values)
            .on_conflict_do_update(
                index_elements=[IdempotencyKey.tenant_id, IdempotencyKey.key], set_=values
            )
        )


async def _find_key(session: AsyncSession, tenant_id: UUID, key: str) -> IdempotencyKey | None:
    idempotency_key: IdempotencyKey | None = await session.scalar(
        select(IdempotencyKey).where(
            IdempotencyKey.tenant_id == tenant_id,
            IdempotencyKey.key == key,
            IdempotencyKey.expires_at > func.now(),
        )
    )
    return idempotency_key


@asynccontextmanager
async def open_transaction(
    request: Request, database: Database, tenant_id: UUID
) -> AsyncIterator[AsyncSession]:
    """Open the request's transaction. With an idempotency key the middleware ends it."""
    attempt: IdempotentRequest | None = getattr(request.state, "attempt", None)
    if attempt is None:
        async with database.transaction() as session:
            yield session
        return
    try:
        yield await attempt.begin(database, tenant_id)
    except BaseException:
        attempt.failed = True
        raise


async def _forbid_storing_request(request: Request, response: Response) -> None:
    await _forbid_storing_response(response)
    attempt: IdempotentRequest | None = getattr(request.state, "attempt", None)
    if attempt is not None:
        attempt.secret = True


async def _forbid_storing_response(response: Response) -> None:
    response.headers["Cache-Control"] = NO_STORE


RETURNS_SECRET = Depends(_forbid_storing_response)
"""For routes that return a secret: the response is never stored, not even for a replay."""


ACCEPTS_SECRET = Depends(_forbid_storing_request)
"""For routes whose request contains a secret, such as a password."""


class IdempotencyMiddleware:
    """Buffers responses to POST requests with a key until they are stored."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._keep = timedelta(hours=settings.idempotency_keep_hours)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        keys = _get_keys(scope)
        if not keys or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if problem := _find_key_error(keys):
            await build_problem(request, 422, problem)(scope, receive, send)
            return
        body = await read_body(receive)
        if body is None:
            return
        attempt = IdempotentRequest(keys[0], await _fingerprint(scope, body), self._keep, request)
        await self._execute(attempt, scope, replay_body(body, receive), send)

    async def _execute(
        self, attempt: IdempotentRequest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        attempt.request.state.attempt = attempt
        answer = BufferedResponse()
        try:
            await self._app(scope, receive, answer.take)
        except BaseException:
            await attempt.undo()
            raise
        await attempt.end(scope["app"].state.context.database, answer)
        if attempt.instead is not None:
            await attempt.instead(scope, receive, send)
        else:
            await answer.send(send)


def _get_keys(scope: Scope) -> list[str]:
    if scope["type"] != "http":
        return []
    return [each.strip() for each in Headers(scope=scope).getlist(KEY_HEADER)]


def _find_key_error(keys: list[str]) -> str | None:
    key = keys[0]
    if len(keys) > 1:
        return f"The request has {len(keys)} {KEY_HEADER} headers. Send only one."
    if not key or len(key) > MAX_KEY_CHARACTERS:
        return (
            f"{KEY_HEADER} must have 1 to {MAX_KEY_CHARACTERS} characters. Use a UUID, for example."
        )
    if not (key.isascii() and key.isprintable()):
        return f"{KEY_HEADER} must be printable ASCII. Use a UUID, for example."
    return None


async def _fingerprint(scope: Scope, body: bytes) -> bytes:
    """Hash the request. Large bodies are hashed in a thread, where hashlib releases the GIL."""
    target = f"{scope['method']} {scope['path']}?{scope['query_string'].decode('latin-1')}\n"
    digest = hashlib.sha256(target.encode())
    if len(body) < MIN_THREADED_HASH_BYTES:
        digest.update(body)
    else:
        await asyncio.to_thread(digest.update, body)
    return digest.digest()
