"""Create a cluster atomically, and check an existing one."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

from scrapersky.db.embedded.account import Account
from scrapersky.db.embedded.binaries import Binaries
from scrapersky.db.embedded.layout import DATABASE, USER, Layout
from scrapersky.errors import DatabaseRefused

UNFINISHED_PREFIX = "postgres.new-"
"""Name prefix of a cluster that is being created. It gets its final name when complete."""

MIN_FREE_BYTES_NEW_CLUSTER = 200 * 1024 * 1024
"""A new cluster takes about 60 MB, and needs some free space to work in."""

POSTGRESQL_CONF = """
# Written once by ScraperSky; change what you like, it is read at the next start.
# Where the server listens and writes its log is given on its command line and stays so.
cluster_name = 'scrapersky'
shared_buffers = 128MB
max_connections = 100
# Backups are made with pg_dump; nobody replicates from here.
wal_level = minimal
max_wal_senders = 0
wal_compression = pglz
min_wal_size = 32MB
max_wal_size = 512MB
# Segments in /dev/shm are removed when their user logs out, and 64 MB is all a container has.
dynamic_shared_memory_type = mmap
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
"""

PG_HBA_CONF = """\
# Nobody comes in over the network; the socket's folder admits the right user only.
local all all trust
"""


def ensure_cluster(layout: Layout, binaries: Binaries) -> bool:
    """Create the cluster if it is missing; return whether it was created."""
    remove_unfinished(layout)
    if is_cluster_missing(layout.cluster):
        _create_cluster(layout, binaries)
        return True
    if objection := find_cluster_problem(layout.cluster, binaries):
        raise DatabaseRefused(objection)
    return False


def is_cluster_missing(cluster: Path) -> bool:
    """Return whether the cluster does not exist, or is an empty folder prepared for it."""
    return not cluster.exists() or (cluster.is_dir() and not any(cluster.iterdir()))


def find_cluster_problem(cluster: Path, binaries: Binaries) -> str | None:
    """Return why this existing cluster cannot be started, in one sentence, or None."""
    restore = "restore it from a backup, or move it away to begin with an empty database."
    if not (cluster / "PG_VERSION").is_file():
        return f"{cluster} is not a PostgreSQL cluster (no PG_VERSION); {restore}"
    if not (cluster / "global" / "pg_control").is_file():
        return f"The PostgreSQL cluster in {cluster} is damaged (no global/pg_control); {restore}"
    made_by = (cluster / "PG_VERSION").read_text(errors="replace").strip()
    if made_by != str(binaries.major):
        return (
            f"The database in {cluster} was made by PostgreSQL {made_by}, but {binaries.folder}"
            f" is PostgreSQL {binaries.version}; set SCRAPERSKY_PG_BIN to the bin folder of"
            f" PostgreSQL {made_by}, or dump it there and restore it into a new data folder."
        )
    return None


def remove_unfinished(layout: Layout) -> None:
    """Remove incomplete clusters. Under the start lock, their creators must be dead."""
    for leftover in layout.home.glob(f"{UNFINISHED_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def find_user_problem(account: Account) -> str | None:
    """Return why this user cannot create a cluster, or None. `initdb` requires a user name."""
    if not account.name.isdigit():
        return None
    return (
        f"User {account.uid} has no name on this system, so PostgreSQL cannot make a database;"
        " add the user to /etc/passwd, run as another, or set DATABASE_URL."
    )


def _create_cluster(layout: Layout, binaries: Binaries) -> None:
    if objection := find_user_problem(layout.account):
        raise DatabaseRefused(objection)
    _refuse_full_disk(layout.home)
    fresh = layout.home / f"{UNFINISHED_PREFIX}{uuid.uuid4().hex[:8]}"
    fresh.mkdir(mode=0o700)
    try:
        os.chown(fresh, layout.account.uid, layout.account.gid)
        _initialize_cluster(fresh, layout, binaries)
        fresh.rename(layout.cluster)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    _sync_folder(layout.home)


def _initialize_cluster(fresh: Path, layout: Layout, binaries: Binaries) -> None:
    initdb = ("--pgdata", fresh, "--username", USER, "--auth=trust", "--encoding=UTF8")
    _run_as_owner(
        layout,
        binaries.tool("initdb"),
        *initdb,
        *_get_locale_options(binaries),
        "--no-instructions",
    )
    _write_as_owner(layout, POSTGRESQL_CONF, "cat >>", fresh / "postgresql.conf")
    _write_as_owner(layout, PG_HBA_CONF, "cat >", fresh / "pg_hba.conf")
    single = ("--single", "-D", fresh, "-c", "exit_on_error=true", "postgres")
    _run_as_owner(layout, binaries.tool("postgres"), *single, stdin=f"CREATE DATABASE {DATABASE}\n")


def _write_as_owner(layout: Layout, text: str, how: str, path: Path) -> None:
    # Written by the owner: root could be tricked by a symlink in another user's folder.
    _run_as_owner(layout, "/bin/sh", "-c", f'{how} "$1"', "sh", path, stdin=text)


def _get_locale_options(binaries: Binaries) -> tuple[str, ...]:
    # PostgreSQL's builtin C.UTF-8 sorts and folds case identically on every system and after OS
    # upgrades, so indexes stay valid. It needs no installed locale. Available since version 17.
    if binaries.major >= 17:
        return ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    return ("--locale=C",)


def _run_as_owner(layout: Layout, *command: str | Path, stdin: str = "") -> None:
    done = layout.account.run(*command, stdin=stdin)
    if done.returncode == 0:
        return
    said = (done.stderr or done.stdout).strip()
    if "No space left on device" in said:
        raise DatabaseRefused(_describe_full_disk(layout.home))
    name = Path(command[0]).name
    raise DatabaseRefused(f"A new database could not be made in {layout.home}; {name} says: {said}")


def _refuse_full_disk(folder: Path) -> None:
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES_NEW_CLUSTER:
        raise DatabaseRefused(_describe_full_disk(folder))


def _describe_full_disk(folder: Path) -> str:
    needed = MIN_FREE_BYTES_NEW_CLUSTER // 1024**2
    return (
        f"The disk under {folder} is too full for a new database, which needs {needed} MB;"
        " free some space, or choose another folder with SCRAPERSKY_DATA_DIR."
    )


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
