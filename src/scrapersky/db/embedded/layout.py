"""Where everything of one data folder lies: its cluster, locks and log."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account, server_account
from scrapersky.errors import DatabaseRefused

CLUSTER = "postgres"
POINTER = "cluster-path"
"""In a data folder the server's user cannot enter: the path of the folder with the cluster."""

RECORD = "data-folder"
"""In the folder a pointer leads to: the path of the data folder it belongs to."""


@dataclass(frozen=True)
class Layout:
    """The paths of one data folder, and the user its server runs as."""

    data_dir: Path
    home: Path
    """What holds the cluster: the data folder, or the folder its pointer leads to."""
    account: Account

    @property
    def cluster(self) -> Path:
        return self.home / CLUSTER

    @property
    def log(self) -> Path:
        return self.data_dir / "postgres.log"

    @property
    def holders(self) -> Path:
        """Locked, shared, by every process that uses the server."""
        return self.data_dir / "holders.lock"

    @property
    def alive(self) -> Path:
        """Locked by the server's own processes as long as any of them lives."""
        return self.data_dir / "postgres.alive"

    @property
    def digest(self) -> str:
        return digest_of(self.data_dir)


def start_lock(data_dir: Path) -> Path:
    """Locked by whoever decides about making, starting, stopping or removing the cluster."""
    return data_dir / "start.lock"


def resolved(data_dir: Path) -> Path:
    """The one true path, so that a link and its target mean the same cluster."""
    try:
        return data_dir.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise DatabaseRefused(
            f"The data folder {data_dir} cannot be found ({error});"
            " choose another with SCRAPERSKY_DATA_DIR."
        ) from error


def digest_of(data_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]


def find_layout(data_dir: Path) -> Layout | None:
    """Where the cluster lies or, when there is none yet, would lie; None: below `/var/lib`.

    Changes nothing. Refuses a cluster the server's user cannot get at.
    """
    if (data_dir / POINTER).is_file():
        return _layout(data_dir, follow_pointer(data_dir))
    layout = _layout(data_dir, data_dir)
    if layout.account.can_enter(data_dir):
        return layout
    layout.account.refuse_if_out_of_reach()
    if layout.cluster.exists():
        raise DatabaseRefused(
            f"The user {layout.account.name}, who runs PostgreSQL for root, cannot enter"
            f" {data_dir}, where the database lies; let it pass (chmod a+x on that folder and"
            " those above it), or move the folder to where it can."
        )
    return None


def settle_layout(data_dir: Path) -> Layout:
    """The layout to use from now on; makes a home below `/var/lib` and a pointer if need be."""
    layout = find_layout(data_dir)
    if layout is None:
        layout = _layout(data_dir, _make_home(data_dir, server_account()))
    if layout.home != data_dir and _recorded(layout.home) != data_dir:
        # The data folder was moved and took its pointer along.
        write_whole(layout.home / RECORD, os.fsencode(data_dir))
    return layout


def _layout(data_dir: Path, home: Path) -> Layout:
    try:
        owner = (home / CLUSTER).stat().st_uid
    except FileNotFoundError:
        return Layout(data_dir, home, server_account())
    account = server_account(owner)
    if owner != account.uid:
        raise DatabaseRefused(
            f"The database in {home / CLUSTER} belongs to another user than {account.name},"
            " who would run it; give it back to its owner, or choose another folder"
            " with SCRAPERSKY_DATA_DIR."
        )
    return Layout(data_dir, home, account)


def follow_pointer(data_dir: Path) -> Path:
    """The folder the pointer leads to, unless it is gone or belongs to another data folder."""
    pointer = data_dir / POINTER
    home = Path(os.fsdecode(pointer.read_bytes().strip()))
    if os.geteuid() != 0 or home.parent != folders.SHARED / "clusters":
        raise DatabaseRefused(
            f"The database of {data_dir} was made by root and lies in {home}; run as root,"
            " or choose another folder with SCRAPERSKY_DATA_DIR."
        )
    if not home.is_dir():
        raise DatabaseRefused(
            f"The database of {data_dir} lay in {home}, which is gone; bring it back,"
            f" or remove {pointer} to begin with an empty one."
        )
    owner = _recorded(home)
    if owner not in (None, data_dir) and _points_to(owner, home):
        raise DatabaseRefused(
            f"{data_dir} is a copy of {owner}, and two folders cannot share a database;"
            f" use {owner}, or remove {pointer} to begin with an empty one."
        )
    return home


def _points_to(data_dir: Path | None, home: Path) -> bool:
    try:
        return data_dir is not None and (data_dir / POINTER).read_bytes() == os.fsencode(home)
    except OSError:
        return False


def _recorded(home: Path) -> Path | None:
    try:
        return Path(os.fsdecode((home / RECORD).read_bytes()))
    except FileNotFoundError:
        return None


def _make_home(data_dir: Path, account: Account) -> Path:
    clusters = folders.ensure_shared_folder("clusters", account)
    home = clusters / digest_of(data_dir)
    # A cluster without a pointer belonged to a folder that was removed or moved from here.
    others = 1
    while (home / CLUSTER).exists():
        others += 1
        home = clusters / f"{digest_of(data_dir)}-{others}"
    folders.make_folder(home, 0o711)
    write_whole(home / RECORD, os.fsencode(data_dir))
    write_whole(data_dir / POINTER, os.fsencode(home))
    return home


def write_whole(path: Path, content: bytes) -> None:
    """Write the file so that a kill leaves the old one or the new one, never a part."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
