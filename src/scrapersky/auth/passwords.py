"""Hash and verify passwords with Argon2id, and verify the scrypt hashes of earlier versions."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from scrapersky.errors import InvalidInput

MIN_PASSWORD_CHARACTERS = 12
MAX_PASSWORD_CHARACTERS = 1_000
SCRYPT_PREFIX = "scrypt$"

T = TypeVar("T")

# As much memory and time as the scrypt hashes of earlier versions, so that the response time does
# not tell a user whose hash is not replaced yet from one who does not exist.
_hasher = PasswordHasher(time_cost=10, memory_cost=32 * 1024, parallelism=1)
_threads = ThreadPoolExecutor(2, thread_name_prefix="passwords")
"""Each hash needs 32 MB, so the number of threads bounds the memory of concurrent sign-ins."""


def _build_dummy_hash() -> str:
    """Return a hash with the current parameters that matches no password, without computing it."""
    salt, digest = (
        base64.b64encode(os.urandom(size)).decode().rstrip("=")
        for size in (_hasher.salt_len, _hasher.hash_len)
    )
    costs = f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"


DUMMY_HASH = _build_dummy_hash()
"""Checked when the user does not exist, so that the response takes equally long."""


async def hash_password(password: str) -> str:
    """Hash a new password. Raises `InvalidInput` if it is too short or too long."""
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise InvalidInput(
            f"The password needs at least {MIN_PASSWORD_CHARACTERS} characters. Use several words."
        )
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise InvalidInput(
            f"The password must have at most {MAX_PASSWORD_CHARACTERS:,} characters."
        )
    return await compute_hash(password)


async def compute_hash(password: str) -> str:
    return await _run_in_thread(lambda: _hasher.hash(_normalize(password)))


async def verify_password(password: str, kept: str | None) -> bool:
    """Return whether the password matches; takes equally long without a stored hash."""
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return False
    matches = await _run_in_thread(lambda: _verify(_normalize(password), kept or DUMMY_HASH))
    return matches and kept is not None


def needs_rehash(kept: str) -> bool:
    """Return whether the hash was made by another scheme or with other parameters."""
    return kept.startswith(SCRYPT_PREFIX) or _hasher.check_needs_rehash(kept)


def _normalize(password: str) -> bytes:
    # Keyboards may compose an accented letter in different ways.
    return unicodedata.normalize("NFKC", password).encode()


def _verify(password: bytes, kept: str) -> bool:
    if kept.startswith(SCRYPT_PREFIX):
        return _verify_scrypt(password, kept)
    try:
        return _hasher.verify(kept, password)
    except VerifyMismatchError:
        return False


def _verify_scrypt(password: bytes, kept: str) -> bool:
    """Verify `scrypt$cost$block$parallel$salt$digest`, where cost is the binary logarithm of n."""
    _, cost, block, parallel, salt, digest = kept.split("$")
    n, r, expected = 2 ** int(cost), int(block), base64.b64decode(digest)
    computed = hashlib.scrypt(
        password,
        salt=base64.b64decode(salt),
        n=n,
        r=r,
        p=int(parallel),
        maxmem=2 * 128 * r * n,
        dklen=len(expected),
    )
    return hmac.compare_digest(computed, expected)


async def _run_in_thread(work: Callable[[], T]) -> T:
    """Run CPU-bound work without blocking the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
