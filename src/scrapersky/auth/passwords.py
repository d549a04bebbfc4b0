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
"""Each takes 32 MB while it counts: no more of them at once, however many sign in."""


@dataclass(frozen=True)
class PasswordHash:
    """What stands in the database, as text: how it was made, the salt, the digest."""

    cost: int
    """As a power of two."""
    block: int
    parallel: int
    salt: bytes
    digest: bytes

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        kind, cost, block, parallel, salt, digest = text.split("$")
        if kind != HASH_SCHEME:
            raise ValueError(f"A password is kept as {kind}, which is not known here.")
        numbers = int(cost), int(block), int(parallel)
        return cls(*numbers, base64.b64decode(salt), base64.b64decode(digest))

    def __str__(self) -> str:
        binary = [base64.b64encode(each).decode() for each in (self.salt, self.digest)]
        return "$".join((HASH_SCHEME, str(self.cost), str(self.block), str(self.parallel), *binary))

    def compute_digest(self, password: str) -> bytes:
        cost = 2**self.cost
        return hashlib.scrypt(
            # However a keyboard spells an accent.
            unicodedata.normalize("NFKC", password).encode(),
            salt=self.salt,
            n=cost,
            r=self.block,
            p=self.parallel,
            maxmem=2 * 128 * self.block * cost,
            dklen=DIGEST_BYTES,
        )


def _build_random_hash() -> PasswordHash:
    """A salt of its own, and a digest that no password has."""
    return PasswordHash(15, 8, 3, os.urandom(SALT_BYTES), os.urandom(DIGEST_BYTES))


DUMMY_HASH = str(_build_random_hash())
"""Tried where there is nobody of that name, so that it takes as long."""


async def hash_password(password: str) -> str:
    """What is kept of a new password; or a sentence saying why it is none."""
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise InvalidInput(
            f"A password needs at least {MIN_PASSWORD_CHARACTERS} characters; take a few words."
        )
    if len(password) > MAX_PASSWORD_CHARACTERS:
        raise InvalidInput(f"A password has at most {MAX_PASSWORD_CHARACTERS:,} characters.")

    fresh = _build_random_hash()
    digest = await _run_in_thread(lambda: fresh.compute_digest(password))
    return str(replace(fresh, digest=digest))


async def verify_password(password: str, kept: str | None) -> bool:
    """Takes as long whether or not there is a password to compare with."""
    known = PasswordHash.parse(kept or DUMMY_HASH)
    if len(password) > MAX_PASSWORD_CHARACTERS:
        return False
    given = await _run_in_thread(lambda: known.compute_digest(password))
    return hmac.compare_digest(given, known.digest) and kept is not None


async def _run_in_thread(work: Callable[[], T]) -> T:
    """The loop goes on while it is counted."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
