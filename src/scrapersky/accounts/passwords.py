"""Passwords: kept as what scrypt makes of them, slow to try out and alike for nobody."""

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

SHORTEST = 12
LONGEST = 1_000
KIND = "scrypt"
SALT_BYTES = 16
DIGEST_BYTES = 32

T = TypeVar("T")

_threads = ThreadPoolExecutor(2, thread_name_prefix="passwords")
"""Each takes 32 MB while it counts: no more of them at once, however many sign in."""


@dataclass(frozen=True)
class Kept:
    """What stands in the database, as text: how it was made, the salt, the digest."""

    cost: int
    """As a power of two."""
    block: int
    parallel: int
    salt: bytes
    digest: bytes

    @classmethod
    def read(cls, text: str) -> Kept:
        kind, cost, block, parallel, salt, digest = text.split("$")
        if kind != KIND:
            raise ValueError(f"A password is kept as {kind}, which is not known here.")
        numbers = int(cost), int(block), int(parallel)
        return cls(*numbers, base64.b64decode(salt), base64.b64decode(digest))

    def __str__(self) -> str:
        binary = [base64.b64encode(each).decode() for each in (self.salt, self.digest)]
        return "$".join((KIND, str(self.cost), str(self.block), str(self.parallel), *binary))

    def digest_of(self, password: str) -> bytes:
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


def _fresh() -> Kept:
    """A salt of its own, and a digest that no password has."""
    return Kept(15, 8, 3, os.urandom(SALT_BYTES), os.urandom(DIGEST_BYTES))


NOBODYS = str(_fresh())
"""Tried where there is nobody of that name, so that it takes as long."""


async def hashed(password: str) -> str:
    """What is kept of a new password; or a sentence saying why it is none."""
    if len(password) < SHORTEST:
        raise InvalidInput(f"A password needs at least {SHORTEST} characters; take a few words.")
    if len(password) > LONGEST:
        raise InvalidInput(f"A password has at most {LONGEST:,} characters.")

    fresh = _fresh()
    digest = await _aside(lambda: fresh.digest_of(password))
    return str(replace(fresh, digest=digest))


async def is_right(password: str, kept: str | None) -> bool:
    """Takes as long whether or not there is a password to compare with."""
    known = Kept.read(kept or NOBODYS)
    if len(password) > LONGEST:
        return False
    given = await _aside(lambda: known.digest_of(password))
    return hmac.compare_digest(given, known.digest) and kept is not None


async def _aside(work: Callable[[], T]) -> T:
    """The loop goes on while it is counted."""
    return await asyncio.get_running_loop().run_in_executor(_threads, work)
