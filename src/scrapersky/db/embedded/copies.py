"""For root: a copy of the wheel's programs where the server's user can reach them."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account
from scrapersky.db.embedded.binaries import INSTALL, WHEEL, Binaries, wheel_folder
from scrapersky.db.embedded.locks import exclusively
from scrapersky.errors import DatabaseRefused

PARTS = (
    f"{WHEEL}/{INSTALL}/bin",
    f"{WHEEL}/{INSTALL}/lib",
    f"{WHEEL}/{INSTALL}/share",
    f"{WHEEL}.libs",
)
"""Kept side by side as in the wheel: the programs look for libpq in `../../../<wheel>.libs`."""


def binaries_for(account: Account, binaries: Binaries) -> Binaries:
    """Programs that user can run: these, or a copy when they lie where it cannot go."""
    if binaries.run_for(account):
        return binaries
    account.refuse_if_out_of_reach()
    copied = _copied(account, binaries) if binaries.are_from_the_wheel else binaries
    if not copied.run_for(account):
        raise DatabaseRefused(
            f"The user {account.name}, who runs PostgreSQL for root, cannot run"
            f" {copied.folder / 'postgres'}; set SCRAPERSKY_PG_BIN to a folder it can enter,"
            " run as an ordinary user, or set DATABASE_URL."
        )
    return copied


def copy_folder(binaries: Binaries) -> Path:
    """Where the copy of these programs is or would be; other programs, another folder."""
    return folders.SHARED / "pg" / f"{binaries.version}-{_digest()}"


def _copied(account: Account, binaries: Binaries) -> Binaries:
    target = copy_folder(binaries)
    if not target.is_dir():
        parent = folders.ensure_shared_folder("pg", account)
        with exclusively(parent / "copy.lock", while_waiting=lambda: None):
            if not target.is_dir():
                _copy_to(target)
    return Binaries(target / WHEEL / INSTALL / "bin", binaries.version)


def _copy_to(target: Path) -> None:
    # We hold the lock, so a half-made copy is what somebody's kill has left.
    for leftover in target.parent.glob("new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh = target.with_name(f"new-{uuid.uuid4().hex}")
    for part in PARTS:
        shutil.copytree(_site() / part, fresh / part)
    for folder, names, files in os.walk(fresh):
        for name in (".", *names, *files):
            _let_everybody_read(Path(folder, name))
    fresh.rename(target)


def _let_everybody_read(path: Path) -> None:
    may_run = path.is_dir() or path.stat().st_mode & 0o100
    path.chmod(0o755 if may_run else 0o644)


def _site() -> Path:
    folder = wheel_folder()
    assert folder is not None, "only a wheel's programs are copied"
    return folder.parent


def _digest() -> str:
    listed = "\n".join(sorted(_files()))
    return hashlib.sha256(f"{_wheel_version()}\n{listed}".encode()).hexdigest()[:12]


def _wheel_version() -> str:
    try:
        return version(WHEEL)
    except PackageNotFoundError:
        return "unknown"


def _files() -> Iterator[str]:
    for part in PARTS:
        for path in (_site() / part).rglob("*"):
            yield f"{path.relative_to(_site())} {path.stat().st_size}"
