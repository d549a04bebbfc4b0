"""Limit password guessing without letting an attacker lock out other users.

Failed attempts fill leaky buckets in the database, which all processes share. A browser that signed
in before sends a device cookie and has its own bucket, which no other client can fill. All other
attempts are counted by address, and by address and name. When many addresses try one name, each of
them gets a single attempt per ten minutes, but an address that has not failed always gets that one.
docs/decisions/0025-sign-in-limits.md has the reasons.
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
    """Leaky bucket: `capacity` failures in a burst, then one per `seconds_each`."""

    capacity: int
    seconds_each: float


DEVICE_LIMIT = AttemptLimit(10, 30)
ADDRESS_LIMIT = AttemptLimit(30, 10)
"""Generous, because a whole office may share one address."""
ADDRESS_AND_NAME_LIMIT = AttemptLimit(5, 60)
ATTACK_LIMIT = AttemptLimit(1, 600)
NAME_LIMIT = AttemptLimit(20, 30)
"""Over all addresses. Exceeding it rejects no attempt; it marks the name as under attack."""
MAX_BUCKET_LEVEL = 50.0
"""Caps the level, so that a name is under attack for at most 15 minutes after the last attempt."""
USER_LIMIT = AttemptLimit(5, 60)
"""For a signed-in user who enters the current password to change it."""


@dataclass(frozen=True)
class AttemptSource:
    """Origin and target of a sign-in attempt. It counts as failed until it is forgiven."""

    address: str
    name: str
    """Tenant id and user name, joined."""
    device: bytes | None = None
    """Hash of a device cookie that belongs to this user."""

    def keys(self) -> list[bytes]:
        """Return the bucket keys in locking order."""
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
    """Count an attempt as failed and forgive it if the block ends without an error.

    Raises a 429 after too many failures. The attempt is counted before the password is checked, so
    concurrent attempts cannot bypass the limit.
    """
    async with database.transaction() as session:
        source = await _identify(session, request, name.strip(), (tenant or "").strip())
        _raise_if_limited(await count_attempt(session, source))
    yield
    async with database.transaction() as session:
        await refund_attempt(session, source)


@asynccontextmanager
async def limit_password_checks(database: Database, actor: Actor) -> AsyncIterator[None]:
    """Do the same for a signed-in user who enters the current password."""
    key = _key("user", str(actor.user_id))
    async with database.transaction() as session:
        _raise_if_limited(_seconds_to_wait(await _fill(session, key, USER_LIMIT), USER_LIMIT))
    yield
    async with database.transaction() as session:
        await session.execute(delete(SignInBucket).where(SignInBucket.key == key))


def _raise_if_limited(seconds: int) -> None:
    """Raise a 429. Call it inside the counting transaction: its rollback uncounts the rejected
    attempt.
    """
    if seconds:
        sentence = f"Too many failed attempts. Try again in {seconds} s."
        raise HTTPException(429, sentence, headers={"Retry-After": str(seconds)})


async def _identify(
    session: AsyncSession, request: Request, name: str, tenant: str
) -> AttemptSource:
    """Identify the attempt. Tenant name and id are resolved to one key, so that they share a
    bucket.
    """
    parsed_id = parse_uuid(tenant)
    known = Tenant.name == tenant if parsed_id is None else Tenant.id == parsed_id
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
    device: bytes | None = await session.scalar(
        select(SignInDevice.token_hash)
        .join(User, User.id == SignInDevice.user_id)
        .where(
            SignInDevice.token_hash == hash_key(token),
            SignInDevice.last_used_at > func.now() - DEVICE_MAX_AGE,
            User.tenant_id == tenant_id,
            User.name == name,
        )
    )
    return device


async def count_attempt(session: AsyncSession, source: AttemptSource) -> int:
    """Count an attempt as failed and return the seconds to wait; 0 if it is allowed.

    If it is not 0, the caller must roll back. Buckets are always locked in the same order (address,
    name, pair) to avoid deadlocks.
    """
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


async def refund_attempt(session: AsyncSession, source: AttemptSource) -> None:
    """Uncount a successful attempt.

    The bucket of address and name is reset. The shared buckets of the address and of the name lose
    only this attempt, so that a sign-in to a known account does not erase guesses at others.
    """
    *shared, own = source.keys()
    for key in shared:
        await session.execute(
            update(SignInBucket)
            .where(SignInBucket.key == key)
            .values(level=func.greatest(0.0, SignInBucket.level - 1))
        )
    await session.execute(delete(SignInBucket).where(SignInBucket.key == own))


async def _fill(session: AsyncSession, key: bytes, limit: AttemptLimit) -> float:
    """Add a failure to a bucket and return its level. Concurrent attempts wait for our commit."""
    age = cast(extract("epoch", func.clock_timestamp() - SignInBucket.updated_at), Float)
    drained = age / literal(limit.seconds_each, Float)
    level = func.greatest(0.0, SignInBucket.level - func.greatest(0.0, drained)) + 1
    statement = insert(SignInBucket).values(key=key, level=1.0, updated_at=func.clock_timestamp())
    upsert = statement.on_conflict_do_update(
        index_elements=[SignInBucket.key],
        # Not now(): that is the start of this transaction, before it waited for the row lock.
        set_={"level": func.least(MAX_BUCKET_LEVEL, level), "updated_at": func.clock_timestamp()},
    )
    return float(await session.scalar(upsert.returning(SignInBucket.level)) or 0)


def _seconds_to_wait(level: float, limit: AttemptLimit) -> int:
    return max(0, math.ceil((level - limit.capacity) * limit.seconds_each))


# Devices


async def remember_device(session: AsyncSession, request: Request, user: User) -> str:
    """Return the token for the device cookie: the existing one if it belongs to this user, or a new
    one.
    """
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
    """Set the device cookie. It grants no access; it only selects the bucket of failed attempts."""
    response.set_cookie(
        DEVICE_COOKIE,
        token,
        max_age=int(DEVICE_MAX_AGE.total_seconds()),
        path=DEVICE_PATH,
        httponly=True,
        samesite="strict",
        secure=has_secure_cookies(request),
    )


# Cleanup


async def delete_old_attempts(database: Database, _settings: Settings) -> int:
    """Delete drained buckets, the oldest buckets beyond MAX_BUCKETS, and unused devices."""
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
    does="Delete expired counts of failed sign-ins and unused devices.",
    every=timedelta(minutes=10),
    run=delete_old_attempts,
)
