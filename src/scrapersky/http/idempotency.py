"""A POST repeated with the same `Idempotency-Key` is carried out once and answered the same.

The answer is stored in the transaction of the effect, so there is never one without the other. For
that the request's transaction ends here, around the route, and not in the route. While a request
is under way its transaction holds a lock of the key's name; whatever ends the transaction, a crash
too, gives the lock back.
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
from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from scrapersky.db.session import Database
from scrapersky.errors import Conflict
from scrapersky.http.errors import problem
from scrapersky.http.messages import NO_STORE, Answer, whole_body, with_body
from scrapersky.logging import get_logger
from scrapersky.models import IdempotencyKey
from scrapersky.settings import Settings

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
MAX_KEY_CHARACTERS = 255
RETRY_AFTER_SECONDS = 1
NOT_KEPT = b""
HASHED_IN_THREAD_FROM_BYTES = 64 * 1024

log = get_logger(__name__)


class NotCarriedOut(Conflict):
    """The key decides; the attempt has the answer."""


@dataclass
class Attempt:
    """One request with a key, from its arrival to its answer."""

    key: str
    fingerprint: bytes
    keep: timedelta
    request: Request
    instead: Response | None = None
    """The answer, where the request is not carried out."""
    tenant_id: UUID | None = None
    session: AsyncSession | None = None
    failed: bool = False
    secret: bool = False
    """Whether the request itself holds a secret, of which not even a digest is kept."""
    _ending: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def begin(self, database: Database, tenant_id: UUID) -> AsyncSession:
        """The transaction of the effect; `NotCarriedOut` where there is to be none."""
        session = await self._ending.enter_async_context(database.transaction())
        locked = await session.scalar(select(func.pg_try_advisory_xact_lock(self._lock(tenant_id))))
        known = await _find(session, tenant_id, self.key) if locked else None
        self.instead = self._answer_from(known) if locked else self._busy()
        if self.instead is not None:
            raise NotCarriedOut(f"{HEADER} {self.key} decides.")
        self.tenant_id, self.session = tenant_id, session
        return session

    def _lock(self, tenant_id: UUID) -> Any:
        name = hashlib.blake2b(f"{HEADER} {tenant_id} {self.key}".encode(), digest_size=8)
        return cast(int.from_bytes(name.digest(), "big", signed=True), BigInteger)

    def _busy(self) -> Response:
        answer = problem(
            self.request, 409, f"A request with this {HEADER} is under way; ask again in a moment."
        )
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return answer

    def _answer_from(self, known: IdempotencyKey | None) -> Response | None:
        if known is None:
            return None
        if known.fingerprint not in (self.fingerprint, NOT_KEPT):
            return problem(
                self.request,
                422,
                f"This {HEADER} was used for another request; take a new one for each request.",
            )
        if known.body is None:
            return problem(
                self.request,
                409,
                f"This was done at {known.created_at:%Y-%m-%d %H:%M:%S} UTC; "
                "a secret was part of it, so its answer was not kept.",
            )
        return Response(known.body, known.status, {**known.headers, REPLAYED: "true"})

    async def end(self, database: Database, answer: Answer) -> None:
        """Store the answer with the effect; an error without one, for it had none."""
        if self.session is None:
            await self.undo()
        elif self.failed or answer.status >= 500:
            await self.undo()
            if answer.status < 500 and not self.secret:
                await self._remember_refusal(database, answer)
        else:
            await self._remember(self.session, answer)
            await self._ending.aclose()

    async def undo(self) -> None:
        undone = NotCarriedOut("The request failed.")
        await self._ending.__aexit__(NotCarriedOut, undone, None)

    async def _remember_refusal(self, database: Database, answer: Answer) -> None:
        try:
            async with database.transaction() as session:
                await self._remember(session, answer)
        except Exception as error:
            log.warning("an answer could not be kept", error=str(error) or repr(error))

    async def _remember(self, session: AsyncSession, answer: Answer) -> None:
        values = {
            "fingerprint": NOT_KEPT if self.secret else self.fingerprint,
            "status": answer.status,
            "headers": answer.kept_headers(),
            "body": bytes(answer.body) if answer.may_be_kept else None,
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


async def _find(session: AsyncSession, tenant_id: UUID, key: str) -> IdempotencyKey | None:
    found: IdempotencyKey | None = await session.scalar(
        select(IdempotencyKey).where(
            IdempotencyKey.tenant_id == tenant_id,
            IdempotencyKey.key == key,
            IdempotencyKey.expires_at > func.now(),
        )
    )
    return found


@asynccontextmanager
async def transaction_of(
    request: Request, database: Database, tenant_id: UUID
) -> AsyncIterator[AsyncSession]:
    """The request's transaction; that of a request with a key ends when its answer is known."""
    attempt: Attempt | None = getattr(request.state, "attempt", None)
    if attempt is None:
        async with database.transaction() as session:
            yield session
        return
    try:
        yield await attempt.begin(database, tenant_id)
    except BaseException:
        attempt.failed = True
        raise


async def _forbid_keeping_any_of_it(request: Request, response: Response) -> None:
    await _forbid_keeping(response)
    attempt: Attempt | None = getattr(request.state, "attempt", None)
    if attempt is not None:
        attempt.secret = True


async def _forbid_keeping(response: Response) -> None:
    response.headers["Cache-Control"] = NO_STORE


SHOWN_ONCE = Depends(_forbid_keeping)
"""For routes that answer with a secret: it is kept nowhere, not even to be repeated."""


HOLDS_A_SECRET = Depends(_forbid_keeping_any_of_it)
"""For routes that are given one, such as a password."""


class Idempotency:
    """Around every route: it holds answers to POSTs with a key until they are stored."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._keep = timedelta(hours=settings.idempotency_keep_hours)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _keys_in(scope)
        if not given or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if objection := _objection_to(given):
            await problem(request, 422, objection)(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        attempt = Attempt(given[0], await _fingerprint(scope, body), self._keep, request)
        await self._attempt(attempt, scope, with_body(body, receive), send)

    async def _attempt(self, attempt: Attempt, scope: Scope, receive: Receive, send: Send) -> None:
        attempt.request.state.attempt = attempt
        answer = Answer()
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


def _keys_in(scope: Scope) -> list[str]:
    if scope["type"] != "http":
        return []
    return [each.strip() for each in Headers(scope=scope).getlist(HEADER)]


def _objection_to(given: list[str]) -> str | None:
    key = given[0]
    if len(given) > 1:
        return f"The request has {len(given)} {HEADER} headers; send one."
    if not key or len(key) > MAX_KEY_CHARACTERS:
        return f"{HEADER} must have 1 to {MAX_KEY_CHARACTERS} characters; a UUID is a good one."
    if not (key.isascii() and key.isprintable()):
        return f"{HEADER} holds something else than printable ASCII; a UUID is a good one."
    return None


async def _fingerprint(scope: Scope, body: bytes) -> bytes:
    """A large body is hashed in a thread, where hashing leaves the interpreter to others."""
    target = f"{scope['method']} {scope['path']}?{scope['query_string'].decode('latin-1')}\n"
    digest = hashlib.sha256(target.encode())
    if len(body) < HASHED_IN_THREAD_FROM_BYTES:
        digest.update(body)
    else:
        await asyncio.to_thread(digest.update, body)
    return digest.digest()
