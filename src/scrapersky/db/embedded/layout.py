"""Paths of a data folder: cluster, locks, log, socket folder and server address."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account, get_server_account
from scrapersky.errors import DatabaseRefused

USER = "scrapersky"
DATABASE = "scrapersky"
PORT = 5432
"""Only names the socket file, `.s.PGSQL.5432`. No TCP port is opened."""


@dataclass(frozen=True)
class ServerAddress:
    """A Unix socket folder, with the user and database to connect to."""

    socket_dir: Path
    port: int = PORT
    user: str = USER
    database: str = DATABASE

    @property
    def url(self) -> str:
        """URL for libpq and asyncpg, and for SQLAlchemy once the scheme names a driver."""
        folder = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{self.user}@/{self.database}?host={folder}&port={self.port}"

    def libpq_env(self) -> dict[str, str]:
        """Return the environment variables for `psql`, `pg_dump` and other libpq programs."""
        return {
            "PGHOST": str(self.socket_dir),
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": self.database,
        }


CLUSTER_FOLDER = "postgres"
POINTER_FILE = "cluster-path"
"""In a data folder that the server's user cannot enter: contains the path of the cluster's folder.
"""

RECORD_FILE = "data-folder"
"""In the folder that a pointer refers to: contains the path of its data folder."""


@dataclass(frozen=True)
class Layout:
    """The paths of one data folder, and the user that its server runs as."""

    data_dir: Path
    home: Path
    """The folder of the cluster: the data folder, or the one that its pointer refers to."""
    account: Account

    @property
    def cluster(self) -> Path:
        return self.home / CLUSTER_FOLDER

    @property
    def log(self) -> Path:
        return self.data_dir / "postgres.log"

    @property
    def holders(self) -> Path:
        """Lock file on which every process that uses the server holds a shared lock."""
        return self.data_dir / "holders.lock"

    @property
    def alive(self) -> Path:
        """Lock file that the server's processes keep locked while any of them is alive."""
        return self.data_dir / "postgres.alive"

    @property
    def digest(self) -> str:
        return compute_digest(self.data_dir)


def get_start_lock(data_dir: Path) -> Path:
    """Return the lock file that guards creating, starting, stopping and removing the cluster."""
    return data_dir / "start.lock"


def resolve_data_dir(data_dir: Path) -> Path:
    """Resolve symlinks, so that a link and its target refer to the same cluster."""
    try:
        return data_dir.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise DatabaseRefused(
            f"The data folder {data_dir} cannot be resolved ({error})."
            " Choose another with SCRAPERSKY_DATA_DIR."
        ) from error


def compute_digest(data_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]


def find_layout(data_dir: Path) -> Layout | None:
    """Return the cluster's current or future location, or None for one below `/var/lib`.

    Changes nothing. Raises an error if the server's user cannot reach an existing cluster.
    """
    if (data_dir / POINTER_FILE).is_file():
        return _build_layout(data_dir, follow_pointer(data_dir))
    layout = _build_layout(data_dir, data_dir)
    if layout.account.can_enter(data_dir):
        return layout
    layout.account.require_switchable()
    if layout.cluster.exists():
        raise DatabaseRefused(
            f"The user {layout.account.name}, who runs PostgreSQL for root, cannot enter"
            f" {data_dir}, which holds the database. Allow it (chmod a+x on that folder and"
            " its parents), or move the folder to where it can."
        )
    return None


def establish_layout(data_dir: Path) -> Layout:
    """Return the layout; create a folder below `/var/lib` and a pointer to it if needed."""
    layout = find_layout(data_dir)
    if layout is None:
        layout = _build_layout(data_dir, _make_home(data_dir, get_server_account()))
    if layout.home != data_dir and _read_record(layout.home) != data_dir:
        # The data folder was moved together with its pointer.
        write_atomically(layout.home / RECORD_FILE, os.fsencode(data_dir))
    return layout


def _build_layout(data_dir: Path, home: Path) -> Layout:
    try:
        owner = (home / CLUSTER_FOLDER).stat().st_uid
    except FileNotFoundError:
        return Layout(data_dir, home, get_server_account())
    account = get_server_account(owner)
    if owner != account.uid:
        raise DatabaseRefused(
            f"The database in {home / CLUSTER_FOLDER} does not belong to {account.name},"
            " the user that would run it. Restore its owner, or choose another folder"
            " with SCRAPERSKY_DATA_DIR."
        )
    return Layout(data_dir, home, account)


def follow_pointer(data_dir: Path) -> Path:
    """Return the folder that the pointer refers to.

    Refuse one that is gone or in use by another data folder.
    """
    pointer = data_dir / POINTER_FILE
    home = Path(os.fsdecode(pointer.read_bytes().strip()))
    if os.geteuid() != 0 or home.parent != folders.SHARED_ROOT / "clusters":
        raise DatabaseRefused(
            f"The database of {data_dir} was created by root and is in {home}. Run as root,"
            " or choose another folder with SCRAPERSKY_DATA_DIR."
        )
    if not home.is_dir():
        raise DatabaseRefused(
            f"The database of {data_dir} was in {home}, which no longer exists. Restore it,"
            f" or remove {pointer} to start with an empty one."
        )
    owner = _read_record(home)
    if owner not in (None, data_dir) and _has_pointer(owner, home):
        raise DatabaseRefused(
            f"{data_dir} is a copy of {owner}, and two folders cannot share a database."
            f" Use {owner}, or remove {pointer} to start with an empty one."
        )
    return home


def _has_pointer(data_dir: Path | None, home: Path) -> bool:
    try:
        return data_dir is not None and (data_dir / POINTER_FILE).read_bytes() == os.fsencode(home)
    except OSError:
        return False


def _read_record(home: Path) -> Path | None:
    try:
        return Path(os.fsdecode((home / RECORD_FILE).read_bytes()))
    except FileNotFoundError:
        return None


def _make_home(data_dir: Path, account: Account) -> Path:
    clusters = folders.ensure_shared_folder("clusters", account)
    home = clusters / compute_digest(data_dir)
    # A cluster without a pointer belonged to a data folder that was since removed or moved.
    others = 1
    while (home / CLUSTER_FOLDER).exists():
        others += 1
        home = clusters / f"{compute_digest(data_dir)}-{others}"
    folders.make_folder(home, 0o711)
    write_atomically(home / RECORD_FILE, os.fsencode(data_dir))
    write_atomically(data_dir / POINTER_FILE, os.fsencode(home))
    return home


def write_atomically(path: Path, content: bytes) -> None:
    """Write the file atomically: a kill leaves either the old or the new content."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


# Sockets are not in the data folder, because a socket's path must fit into 107 bytes. They are not
# in XDG_RUNTIME_DIR either, because logging out removes it while other processes still use the
# server.


def get_socket_base() -> Path:
    """Return `/run/scrapersky` for root, otherwise `/tmp/scrapersky-<uid>`."""
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/scrapersky")
    return Path(f"/tmp/scrapersky-{os.geteuid()}")  # noqa: S108 (its owner is checked)


def get_socket_folder(layout: Layout) -> Path:
    return get_socket_base() / layout.digest


def make_socket_folder(layout: Layout) -> Path:
    """Create or check the socket folder; refuse one that another user prepared."""
    base, folder = get_socket_base(), get_socket_folder(layout)
    folders.make_folder(base, 0o700 if layout.account.is_ours else 0o711)
    folders.refuse_unless_private(base, owner=os.geteuid(), others_may_enter=True)
    if not folder.exists():
        folders.make_folder(folder, 0o700)
        os.chown(folder, layout.account.uid, layout.account.gid, follow_symlinks=False)
    refuse_open_socket_folder(folder, layout.account)
    return folder


def refuse_open_socket_folder(folder: Path, account: Account) -> None:
    folders.refuse_unless_private(folder, owner=account.uid)


def remove_stale_sockets(folder: Path) -> None:
    """Remove the sockets of a killed server. Call it only while no server of ours is running.

    PostgreSQL refuses to start if the PID in a stale lock file now belongs to another process.
    """
    for left in folder.glob(".s.PGSQL.*"):
        left.unlink(missing_ok=True)


def remove_socket_folder(layout: Layout) -> None:
    """Remove the sockets and their folder after a stop.

    A server whose data folder was removed exits without removing its socket. A folder with other
    files is kept.
    """
    folder = get_socket_folder(layout)
    try:
        for left_behind in folder.glob(".s.PGSQL.*"):
            left_behind.unlink()
        folder.rmdir()
    except OSError:
        return
