"""Limits on guessing passwords that cannot be used to lock somebody else out.

Failed attempts fill leaky buckets in the database, so all processes count together. A browser that
signed in before shows a device cookie and has a bucket of its own, which nobody else can fill. All
others are counted by address, and by address and name. When many addresses try one name, each of
them gets a single attempt in ten minutes, but an address that has not failed always gets that one.
The reasons stand in docs/decisions/0025-sign-in-limits.md.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from fastapi import HTTPException, Request, Response
from sqlalchemy import Float, Select, cast, delete, extract, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from scrapersky.auth.tenants import parse_uuid
from scrapersky.db.session import Database
from scrapersky.http.credentials import has_secure_cookies
from scrapersky.http.rate_limit import get_client_address
from scrapersky.logging import get_logger
from scrapersky.models import DEFAULT_TENANT_ID, Actor, SignInBucket, SignInDevice, Tenant, User
from scrapersky.models.accounts import hash_key
from scrapersky.pipeline.chores import Chore
from scrapersky.settings import Settings

DEVICE_COOKIE = "scrapersky_device"
DEVICE_PATH = "/api/v3/session"
DEVICE_MAX_AGE = timedelta(days=180)
MAX_DEVICES_PER_USER = 20
BUCKET_MAX_AGE = timedelta(hours=2)
"""Longer than any bucket takes to drain."""
MAX_BUCKETS = 100_000
BATCH_ROWS = 1_000

log = get_logger(__name__)


@dataclass(frozen=True)
class AttemptLimit:
    """So many failures at once, and one more each time so many seconds have passed."""

    capacity: int
    seconds_each: float


DEVICE_LIMIT = AttemptLimit(10, 30)
ADDRESS_LIMIT = AttemptLimit(30, 10)
"""Behind one address there may be a whole office."""
ADDRESS_AND_NAME_LIMIT = AttemptLimit(5, 60)
ATTACK_LIMIT = AttemptLimit(1, 600)
NAME_LIMIT = AttemptLimit(20, 30)
"""Over all addresses. More than this refuses nobody: it means that the name is under attack."""
MAX_BUCKET_LEVEL = 50.0
"""So that a name is under attack for a quarter of an hour after the last attempt at most."""
USER_LIMIT = AttemptLimit(5, 60)
"""Of somebody who is signed in and gives the current password to change it."""


@dataclass(frozen=True)
class AttemptSource:
    """Who tries to sign in as whom; an attempt counts as failed unless it is taken back."""

    address: str
    name: str
    """The tenant's id and the name, as one text."""
    device: bytes | None = None
    """The digest of a device cookie that belongs to this very user."""

    def keys(self) -> list[bytes]:
        """In the order in which they are locked."""
        if self.device is not None:
            return [_key("device", self.device.hex())]
        return [
            _key("address", self.address),
            _key("name", self.name),
            _key("pair", self.address, self.name),
        ]


def _key(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()


@asynccontextmanager
async def limit_attempts(
    request: Request, database: Database, *, name: str, tenant: str | None
) -> AsyncIterator[None]:
    """Count the block as failed unless it ends without an error; answer 429 when there were too
    many failures. Counted before the password is checked, so many at once are no way around."""
    async with database.transaction() as session:
        source = await _identify(session, request, name.strip(), (tenant or "").strip())
        _raise_if_limited(await count_attempt(session, source))
    yield
    async with database.transaction() as session:
        await forgive_attempt(session, source)


@asynccontextmanager
async def limit_password_checks(database: Database, actor: Actor) -> AsyncIterator[None]:
    """The same for somebody who is signed in, and gives their current password."""
    key = _key("user", str(actor.user_id))
    async with database.transaction() as session:
        _raise_if_limited(_seconds_to_wait(await _fill(session, key, USER_LIMIT), USER_LIMIT))
    yield
    async with database.transaction() as session:
        await session.execute(delete(SignInBucket).where(SignInBucket.key == key))


def _raise_if_limited(seconds: int) -> None:
    """Raised inside the transaction that counted, so that a refused attempt counts for nothing."""
    if seconds:
        sentence = f"Too many failed attempts. Try again in {seconds} s."
        raise HTTPException(429, sentence, headers={"Retry-After": str(seconds)})


async def _identify(
    session: AsyncSession, request: Request, name: str, tenant: str
) -> AttemptSource:
    """A tenant may be given by name or id: both are the same one, or there would be two counts."""
    given = parse_uuid(tenant)
    known = Tenant.name == tenant if given is None else Tenant.id == given
    tenant_id = await session.scalar(select(Tenant.id).where(known)) if tenant else None
    if not tenant:
        tenant_id = DEFAULT_TENANT_ID
    return AttemptSource(
        address=get_client_address(request),
        name=f"{tenant_id or tenant.casefold()}\0{name.casefold()}",
        device=await _find_device(session, request, tenant_id, name),
    )


async def _find_device(
    session: AsyncSession, request: Request, tenant_id: UUID | None, name: str
) -> bytes | None:
    token = request.cookies.get(DEVICE_COOKIE)
    if not token or tenant_id is None:
        return None
    found: bytes | None = await session.scalar(
        select(SignInDevice.token_hash)
        .join(User, User.id == SignInDevice.user_id)
        .where(
            SignInDevice.token_hash == hash_key(token),
            SignInDevice.last_used_at > func.now() - DEVICE_MAX_AGE,
            User.tenant_id == tenant_id,
            User.name == name,
        )
    )
    return found


async def count_attempt(session: AsyncSession, source: AttemptSource) -> int:
    """Count an attempt as failed; return the seconds to wait when there were too many already, in
    which case the caller rolls back. Everybody locks in the same order: address, name, pair."""
    if source.device is not None:
        return _seconds_to_wait(await _fill(session, source.keys()[0], DEVICE_LIMIT), DEVICE_LIMIT)
    by_address, by_name, by_pair = source.keys()
    if wait := _seconds_to_wait(await _fill(session, by_address, ADDRESS_LIMIT), ADDRESS_LIMIT):
        return wait
    level = await _fill(session, by_name, NAME_LIMIT)
    limit = ADDRESS_AND_NAME_LIMIT
    if level > NAME_LIMIT.capacity:
        log.warning("many failed sign-ins for one name", failures=round(level))
        limit = ATTACK_LIMIT
    return _seconds_to_wait(await _fill(session, by_pair, limit), limit)


async def forgive_attempt(session: AsyncSession, source: AttemptSource) -> None:
    """The attempt succeeded. The pair starts anew; of the address and of the name only this one
    attempt is taken back, so that a name one knows does not wash away guesses at others."""
    *shared, own = source.keys()
    for key in shared:
        await session.execute(
            update(SignInBucket)
            .where(SignInBucket.key == key)
            .values(level=func.greatest(0.0, SignInBucket.level - 1))
        )
    await session.execute(delete(SignInBucket).where(SignInBucket.key == own))


async def _fill(session: AsyncSession, key: bytes, limit: AttemptLimit) -> float:
    """Add a failure to a bucket and return its level; whoever comes next waits for our commit."""
    age = cast(extract("epoch", func.clock_timestamp() - SignInBucket.updated_at), Float)
    drained = age / literal(limit.seconds_each, Float)
    level = func.greatest(0.0, SignInBucket.level - func.greatest(0.0, drained)) + 1
    adding = insert(SignInBucket).values(key=key, level=1.0, updated_at=func.clock_timestamp())
    upsert = adding.on_conflict_do_update(
        index_elements=[SignInBucket.key],
        # Not now(): that is when this transaction began, before it waited for the row.
        set_={"level": func.least(MAX_BUCKET_LEVEL, level), "updated_at": func.clock_timestamp()},
    )
    return float(await session.scalar(upsert.returning(SignInBucket.level)) or 0)


def _seconds_to_wait(level: float, limit: AttemptLimit) -> int:
    return max(0, math.ceil((level - limit.capacity) * limit.seconds_each))


# Devices


async def remember_device(session: AsyncSession, request: Request, user: User) -> str:
    """The token of this browser's device cookie: the one it has, if it is this user's."""
    token = request.cookies.get(DEVICE_COOKIE) or ""
    known = await session.scalar(
        update(SignInDevice)
        .where(SignInDevice.token_hash == hash_key(token), SignInDevice.user_id == user.id)
        .values(last_used_at=func.now())
        .returning(SignInDevice.user_id)
    )
    if known is not None:
        return token
    token = secrets.token_urlsafe(32)
    session.add(SignInDevice(token_hash=hash_key(token), user_id=user.id, tenant_id=user.tenant_id))
    await session.flush()
    newest = (
        select(SignInDevice.token_hash)
        .where(SignInDevice.user_id == user.id)
        .order_by(SignInDevice.last_used_at.desc(), SignInDevice.token_hash)
        .limit(MAX_DEVICES_PER_USER)
    )
    await session.execute(
        delete(SignInDevice)
        .where(SignInDevice.user_id == user.id, SignInDevice.token_hash.not_in(newest))
        .execution_options(synchronize_session=False)
    )
    return token


def set_device_cookie(request: Request, response: Response, token: str) -> None:
    """It opens nothing: it only says that attempts from this browser are counted by themselves."""
    response.set_cookie(
        DEVICE_COOKIE,
        token,
        max_age=int(DEVICE_MAX_AGE.total_seconds()),
        path=DEVICE_PATH,
        httponly=True,
        samesite="strict",
        secure=has_secure_cookies(request),
    )


# Cleaning up


async def delete_old_attempts(database: Database, _settings: Settings) -> int:
    """Delete buckets that have drained, the oldest of too many, and devices not used for long."""
    key, device = SignInBucket.key, SignInDevice.token_hash
    old = (
        (key, select(key).where(SignInBucket.updated_at < func.now() - BUCKET_MAX_AGE)),
        (key, select(key).order_by(SignInBucket.updated_at.desc()).offset(MAX_BUCKETS)),
        (device, select(device).where(SignInDevice.last_used_at < func.now() - DEVICE_MAX_AGE)),
    )
    total = 0
    for column, keys in old:
        while count := await _delete_batch(database, column, keys.limit(BATCH_ROWS)):
            total += count
    return total


async def _delete_batch(
    database: Database, column: InstrumentedAttribute[bytes], keys: Select[bytes]
) -> int:
    async with database.transaction() as session:
        gone = await session.execute(
            delete(column.class_)
            .where(column.in_(keys))
            .returning(column)
            .execution_options(synchronize_session=False)
        )
        return len(gone.all())


CHORE = Chore(
    name="forget_sign_in_attempts",
    does="Delete counts of failed sign-ins that no longer matter, and devices not used for long.",
    every=timedelta(minutes=10),
    run=delete_old_attempts,
)
