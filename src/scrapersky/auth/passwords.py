"""Hash and verify passwords with scrypt."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from scrapersky.errors import InvalidInput

MIN_PASSWORD_CHARACTERS = 12
MAX_PASSWORD_CHARACTERS = 1_000
HASH_SCHEME = "scrypt"
SALT_BYTES = 16
DIGEST_BYTES = 32

T = TypeVar("T")

_threads = ThreadPoolExecutor(2, thread_name_prefix="passwords")
"""Each hash needs 32 MB, so the number of threads bounds the memory of concurrent sign-ins."""


@dataclass(frozen=True)
class PasswordHash:
    """Stored form of a password: scheme and parameters, salt, digest."""

    cost: int
    """Base-2 logarithm of scrypt's n."""
    block: int
    parallel: int
    salt: bytes
    digest: bytes

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        kind, cost, block, parallel, salt, digest = text.split("$")
        if kind != HASH_SCHEME:
            raise ValueError(f"Unknown password hash scheme: {kind}.")
        numbers = int(cost), int(block), int(parallel)
        return cls(*numbers, base64.b64decode(salt), base64.b64decode(digest))

    def __str__(self) -> str:
        binary = [base64.b64encode(each).decode() for each in (self.salt, self.digest)]
        return "$".join((HASH_SCHEME, str(self.cost), str(self.block), str(self.parallel), *binary))

    def compute_digest(self, password: str) -> bytes:
        cost = 2**self.cost
        return hashlib.scrypt(
            # Keyboards may compose an accented letter in different ways.
            unicodedata.normalize("NFKC", password).encode(),
            salt=self.salt,
            n=cost,
            r=self.block,
            p=self.parallel,
            maxmem=2 * 128 * self.block * cost,
            dklen=DIGEST_BYTES,
        )


def _build_random_hash() -> PasswordHash:
    """Return the current parameters with a random salt and a digest that matches no password."""
    return PasswordHash(15, 8, 3, os.urandom(SALT_BYTES), os.urandom(DIGEST_BYTES))


DUMMY_HASH = str(_build_random_hash())
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

    fresh = _build_random_hash()
    digest = await _run_in_thread(lambda: fresh.compute_digest(password))
    return str(replace(fresh, digest=digest))


async def verify_password(password: str, kept: str | None) -> bool:
    """Return whether the password matches; takes equally long without a stored hash."""
    known = PasswordHash.parse(kept or DUMMY_HASH)
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return False
    given = await _run_in_thread(lambda: known.compute_digest(password))
    return hmac.compare_digest(given, known.digest) and kept is not None


async def _run_in_thread(work: Callable[[], T]) -> T:
    """Run CPU-bound work without blocking the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
