"""The key for digests of erased values: stored outside the database, checked at every start.

A digest of an erased value is HMAC-SHA-256(key, SHA-256(value)). An attacker who has only the
database cannot test guesses. Digests of earlier versions, SHA-256(value), are re-keyed without
knowing the value.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.session import ERASURE_KEY, Database
from scrapersky.errors import ErasureKeyRefused
from scrapersky.settings import Settings

FILE_NAME = "erasure.key"
MIN_KEY_CHARACTERS = 32
KEY_LOCK = 0x5C4A9E46
"""Advisory lock for storing keyed digests: its holder checks first that no other key is in use."""
REKEY_BATCH_SIZE = 1_000

ADVICE = (
    "Copy the key of the installation to this machine as {place}, or set ERASURE_KEY to it. "
    "If it is permanently lost, run `scrapersky db reset-erasure-key`."
)


class ErasureKey:
    """The key and its fingerprint."""

    def __init__(self, secret: str) -> None:
        self._hmac = hmac.new(secret.encode(), digestmod="sha256")
        self.fingerprint = sha256(b"scrapersky erasure key\0" + secret.encode()).hexdigest()[:16]
        """Stored with every digest, to detect digests of another key."""

    def get_digest(self, value: str) -> bytes:
        return self.rekey(sha256(value.encode()).digest())

    def rekey(self, plain_digest: bytes) -> bytes:
        mac = self._hmac.copy()
        mac.update(plain_digest)
        return mac.digest()


class ErasureKeySource:
    """Where a process gets the key: a setting, or a file that is created on first use."""

    def __init__(self, secret: str = "", path: Path | None = None) -> None:
        self._secret = secret
        self._path = path
        self._key: ErasureKey | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> ErasureKeySource:
        path = settings.erasure_key_file or settings.scrapersky_data_dir / FILE_NAME
        return cls(settings.erasure_key, path)

    @property
    def place(self) -> str:
        return "ERASURE_KEY" if self._secret or self._path is None else str(self._path)

    def load(self) -> ErasureKey | None:
        """Return the key, or None if there is none yet; raise an error for an unreadable file."""
        if self._key is None and (secret := self._secret or self._read_file()):
            self._key = ErasureKey(secret)
        return self._key

    def load_or_create(self) -> ErasureKey:
        key = self.load()
        if key is None:
            self._create_file()
            key = self.load()
        assert key is not None, "the file existed or was created"
        return key

    def _read_file(self) -> str:
        if self._path is None:
            return ""
        try:
            secret = self._path.read_text(encoding="ascii").strip()
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (OSError, UnicodeError) as error:
            raise ErasureKeyRefused(f"The erasure key cannot be read: {error}.") from error
        if len(secret) < MIN_KEY_CHARACTERS:
            raise ErasureKeyRefused(
                f"{self._path} does not contain an erasure key of at least "
                f"{MIN_KEY_CHARACTERS} characters. "
                "Restore it from a backup."
            )
        return secret

    def _create_file(self) -> None:
        """Write a temporary file and link it into place.

        Of several concurrent processes one wins, and no process ever reads a partial key.
        """
        if self._path is None:
            raise ErasureKeyRefused("There is no erasure key. Set ERASURE_KEY.")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")  # 0600
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(secrets.token_hex(32) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):
                    os.link(name, self._path)
            finally:
                os.unlink(name)
        except OSError as error:
            raise ErasureKeyRefused(
                f"The erasure key cannot be stored as {self._path}: {error}. "
                "Set ERASURE_KEY or ERASURE_KEY_FILE."
            ) from error


def get_key_source(session: AsyncSession) -> ErasureKeySource:
    source = session.info.get(ERASURE_KEY)
    return source if isinstance(source, ErasureKeySource) else ErasureKeySource()


def require_key(source: ErasureKeySource, fingerprint: str) -> ErasureKey:
    """Return the key with this fingerprint.

    Raise `ErasureKeyRefused` if this process has another key or none.
    """
    key = source.load()
    if key is not None and key.fingerprint == fingerprint:
        return key
    reason = "this machine has none" if key is None else f"{source.place} holds a different key"
    raise ErasureKeyRefused(
        f"Erased people are recognised by the erasure key {fingerprint}, but {reason}. "
        + ADVICE.format(place=source.place)
    )


async def claim_key(session: AsyncSession) -> ErasureKey:
    """Return the key for storing a digest, and create it if there is none yet.

    Until the transaction ends, no other process can store the first digest of another key.
    """
    source = get_key_source(session)
    await session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": KEY_LOCK})
    used = await list_fingerprints(session)
    return require_key(source, used[0]) if used else source.load_or_create()


async def check_erasure_key(database: Database) -> None:
    """Re-key digests of earlier versions, and refuse to run with a missing or different key.

    Such a process could not recognise erased people and would collect them again.
    """
    async with database.reading() as session:
        for fingerprint in await list_fingerprints(session):
            require_key(get_key_source(session), fingerprint)
    while await _rekey_batch(database):
        pass


async def count_unreadable(session: AsyncSession) -> int:
    """Count the digests of erased values that were made with another key than this process has."""
    return int(
        await session.scalar(text(f"SELECT count(*) {_UNREADABLE}"), _get_own_key(session)) or 0
    )


async def delete_unreadable(session: AsyncSession) -> int:
    """Delete digests that can no longer be compared with any value."""
    gone: Any = await session.execute(text(f"DELETE {_UNREADABLE}"), _get_own_key(session))
    return int(gone.rowcount)


_UNREADABLE = (
    "FROM suppressions WHERE value IS NULL AND key_id IS NOT NULL AND key_id IS DISTINCT FROM :own"
)


def _get_own_key(session: AsyncSession) -> dict[str, str | None]:
    key = get_key_source(session).load()
    return {"own": key.fingerprint if key else None}


async def list_fingerprints(session: AsyncSession) -> list[str]:
    """Return the fingerprints of all keys in use. There should be at most one."""
    rows = await session.scalars(
        text(
            "SELECT DISTINCT key_id FROM suppressions "
            "WHERE value IS NULL AND key_id IS NOT NULL ORDER BY 1"
        )
    )
    return list(rows)


async def _rekey_batch(database: Database) -> bool:
    """Re-key one batch in one transaction, so that an interrupted run resumes at the next start.

    If the same value was erased again in the meantime, its keyed digest is kept and the plain one
    deleted.
    """
    some = (
        "SELECT id, digest FROM suppressions WHERE value IS NULL AND key_id IS NULL "
        "ORDER BY id LIMIT :limit"
    )
    async with database.transaction() as session:
        if not (await session.execute(text(some), {"limit": 1})).first():
            return False
        key = await claim_key(session)  # before any row is locked, in the same order as an erasure
        result = await session.execute(text(f"{some} FOR UPDATE"), {"limit": REKEY_BATCH_SIZE})
        rows = [
            {"id": row_id, "digest": key.rekey(bytes(digest)), "key_id": key.fingerprint}
            for row_id, digest in result
        ]
        if rows:
            await session.execute(text(_DELETE_DUPLICATE), rows)
            await session.execute(text(_REKEY), rows)
    return True


_DELETE_DUPLICATE = """
    DELETE FROM suppressions AS old USING suppressions AS keyed
    WHERE old.id = :id AND keyed.tenant_id = old.tenant_id AND keyed.kind = old.kind
        AND keyed.digest = :digest AND keyed.key_id = :key_id
"""
_REKEY = "UPDATE suppressions SET digest = :digest, key_id = :key_id WHERE id = :id"
