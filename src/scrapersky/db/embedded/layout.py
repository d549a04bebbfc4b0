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
"""No TCP port is opened; the number only names the socket file, `.s.PGSQL.5432`."""


@dataclass(frozen=True)
class ServerAddress:
    """A Unix socket folder and the names to use behind it."""

    socket_dir: Path
    port: int = PORT
    user: str = USER
    database: str = DATABASE

    @property
    def url(self) -> str:
        """Understood by libpq and asyncpg, and by SQLAlchemy once the scheme names a driver."""
        folder = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{self.user}@/{self.database}?host={folder}&port={self.port}"

    def libpq_env(self) -> dict[str, str]:
        """What `psql`, `pg_dump` and other libpq programs read from their environment."""
        return {
            "PGHOST": str(self.socket_dir),
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": self.database,
        }


CLUSTER_FOLDER = "postgres"
POINTER_FILE = "cluster-path"
"""In a data folder the server's user cannot enter: the path of the folder with the cluster."""

RECORD_FILE = "data-folder"
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
        return self.home / CLUSTER_FOLDER

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
        return compute_digest(self.data_dir)


def get_start_lock(data_dir: Path) -> Path:
    """Locked by whoever decides about making, starting, stopping or removing the cluster."""
    return data_dir / "start.lock"


def resolve_data_dir(data_dir: Path) -> Path:
    """The one true path, so that a link and its target mean the same cluster."""
    try:
        return data_dir.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise DatabaseRefused(
            f"The data folder {data_dir} cannot be found ({error});"
            " choose another with SCRAPERSKY_DATA_DIR."
        ) from error


def compute_digest(data_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]


def find_layout(data_dir: Path) -> Layout | None:
    """Where the cluster lies or, when there is none yet, would lie; None: below `/var/lib`.

    Changes nothing. Refuses a cluster the server's user cannot get at.
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
            f" {data_dir}, where the database lies; let it pass (chmod a+x on that folder and"
            " those above it), or move the folder to where it can."
        )
    return None


def establish_layout(data_dir: Path) -> Layout:
    """The layout to use from now on; makes a home below `/var/lib` and a pointer if need be."""
    layout = find_layout(data_dir)
    if layout is None:
        layout = _build_layout(data_dir, _make_home(data_dir, get_server_account()))
    if layout.home != data_dir and _read_record(layout.home) != data_dir:
        # The data folder was moved and took its pointer along.
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
            f"The database in {home / CLUSTER_FOLDER} belongs to another user than {account.name},"
            " who would run it; give it back to its owner, or choose another folder"
            " with SCRAPERSKY_DATA_DIR."
        )
    return Layout(data_dir, home, account)


def follow_pointer(data_dir: Path) -> Path:
    """The folder the pointer leads to, unless it is gone or belongs to another data folder."""
    pointer = data_dir / POINTER_FILE
    home = Path(os.fsdecode(pointer.read_bytes().strip()))
    if os.geteuid() != 0 or home.parent != folders.SHARED_ROOT / "clusters":
        raise DatabaseRefused(
            f"The database of {data_dir} was made by root and lies in {home}; run as root,"
            " or choose another folder with SCRAPERSKY_DATA_DIR."
        )
    if not home.is_dir():
        raise DatabaseRefused(
            f"The database of {data_dir} lay in {home}, which is gone; bring it back,"
            f" or remove {pointer} to begin with an empty one."
        )
    owner = _read_record(home)
    if owner not in (None, data_dir) and _has_pointer(owner, home):
        raise DatabaseRefused(
            f"{data_dir} is a copy of {owner}, and two folders cannot share a database;"
            f" use {owner}, or remove {pointer} to begin with an empty one."
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
    # A cluster without a pointer belonged to a folder that was removed or moved from here.
    others = 1
    while (home / CLUSTER_FOLDER).exists():
        others += 1
        home = clusters / f"{compute_digest(data_dir)}-{others}"
    folders.make_folder(home, 0o711)
    write_atomically(home / RECORD_FILE, os.fsencode(data_dir))
    write_atomically(data_dir / POINTER_FILE, os.fsencode(home))
    return home


def write_atomically(path: Path, content: bytes) -> None:
    """Write the file so that a kill leaves the old one or the new one, never a part."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


# Not in the data folder: a socket's whole path must fit into 107 bytes.
# Not in XDG_RUNTIME_DIR: logging out removes it under a server that others still use.


def get_socket_base() -> Path:
    """`/run/scrapersky` for root, `/tmp/scrapersky-<uid>` for everybody else."""
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/scrapersky")
    return Path(f"/tmp/scrapersky-{os.geteuid()}")  # noqa: S108 (its owner is checked)


def get_socket_folder(layout: Layout) -> Path:
    return get_socket_base() / layout.digest


def make_socket_folder(layout: Layout) -> Path:
    """Make or check the folder; one that somebody else prepared is refused."""
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
    """Remove what a killed server left; only while none of ours is running.

    PostgreSQL would refuse to start when the left lock file's pid is now somebody else's.
    """
    for left in folder.glob(".s.PGSQL.*"):
        left.unlink(missing_ok=True)


def remove_socket_folder(layout: Layout) -> None:
    """After a stop. A server whose data folder was taken away ends without clearing up its
    socket, so that is done here; anything else in the folder stays, and the folder with it."""
    folder = get_socket_folder(layout)
    try:
        for left_behind in folder.glob(".s.PGSQL.*"):
            left_behind.unlink()
        folder.rmdir()
    except OSError:
        return
