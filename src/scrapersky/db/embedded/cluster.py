"""Create a cluster atomically, and check an existing one."""

from __future__ import annotations

import os
import re
import shutil
import sys
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
# Written once by ScraperSky. You may edit it; changes apply at the next start.
# The listen address and the log file are set on the command line and cannot be changed here.
cluster_name = 'scrapersky'
shared_buffers = 128MB
max_connections = 100
# Backups are made with pg_dump; there is no replication.
wal_level = minimal
max_wal_senders = 0
wal_compression = pglz
min_wal_size = 32MB
max_wal_size = 512MB
# Segments in /dev/shm are removed when their user logs out, and containers have only 64 MB of it.
dynamic_shared_memory_type = mmap
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
"""

PG_HBA_CONF = """\
# No TCP connections. Only the right user can enter the socket's folder.
local all all trust
"""


def ensure_cluster(layout: Layout, binaries: Binaries) -> bool:
    """Create the cluster if it is missing; return whether it was created."""
    remove_unfinished(layout)
    if is_cluster_missing(layout.cluster):
        _create_cluster(layout, binaries)
        return True
    if problem := find_cluster_problem(layout.cluster, binaries):
        raise DatabaseRefused(problem)
    return False


def is_cluster_missing(cluster: Path) -> bool:
    """Return whether the cluster does not exist, or is an empty folder prepared for it."""
    return not cluster.exists() or (cluster.is_dir() and not any(cluster.iterdir()))


def find_cluster_problem(cluster: Path, binaries: Binaries) -> str | None:
    """Return why this existing cluster cannot be started, in one sentence, or None."""
    restore = "Restore it from a backup, or move it away to start with an empty database."
    if not (cluster / "PG_VERSION").is_file():
        return f"{cluster} is not a PostgreSQL cluster (no PG_VERSION). {restore}"
    if not (cluster / "global" / "pg_control").is_file():
        return f"The PostgreSQL cluster in {cluster} is damaged (no global/pg_control). {restore}"
    made_by = (cluster / "PG_VERSION").read_text(errors="replace").strip()
    if made_by != str(binaries.major):
        return (
            f"The database in {cluster} was created by PostgreSQL {made_by}, but {binaries.folder}"
            f" is PostgreSQL {binaries.version}. Set SCRAPERSKY_PG_BIN to the bin folder of"
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
        f"User {account.uid} has no name on this system, so PostgreSQL cannot create a database."
        " Add the user to /etc/passwd, run as another user, or set DATABASE_URL."
    )


def _create_cluster(layout: Layout, binaries: Binaries) -> None:
    if problem := find_user_problem(layout.account):
        raise DatabaseRefused(problem)
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
        *_get_sync_options(binaries),
        "--no-instructions",
    )
    _write_as_owner(layout, POSTGRESQL_CONF, "cat >>", fresh / "postgresql.conf")
    _write_as_owner(layout, PG_HBA_CONF, "cat >", fresh / "pg_hba.conf")
    # Renaming the database that initdb made takes a tenth of the time of copying a template.
    single = ("--single", "-D", fresh, "-c", "exit_on_error=true", "template1")
    rename = f"ALTER DATABASE postgres RENAME TO {DATABASE}\n"
    _run_as_owner(layout, binaries.tool("postgres"), *single, stdin=rename)


def _write_as_owner(layout: Layout, text: str, how: str, path: Path) -> None:
    # Written by the owner: root could be tricked by a symlink in another user's folder.
    _run_as_owner(layout, "/bin/sh", "-c", f'{how} "$1"', "sh", path, stdin=text)


def _get_locale_options(binaries: Binaries) -> tuple[str, ...]:
    # PostgreSQL's builtin C.UTF-8 sorts and folds case identically on every system and after OS
    # upgrades, so indexes stay valid. It needs no installed locale. Available since version 17.
    if binaries.major >= 17:
        return ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    return ("--locale=C",)


def _get_sync_options(binaries: Binaries) -> tuple[str, ...]:
    # A new cluster has a thousand files. One syncfs writes them to disk like an fsync for each, but
    # with one commit of the file system's journal. Linux reports its write errors since 5.8.
    if binaries.major >= 17 and sys.platform == "linux" and _get_kernel_version() >= (5, 8):
        return ("--sync-method=syncfs",)
    return ()


def _get_kernel_version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def _run_as_owner(layout: Layout, *command: str | Path, stdin: str = "") -> None:
    done = layout.account.run(*command, stdin=stdin)
    if done.returncode == 0:
        return
    output = (done.stderr or done.stdout).strip()
    if "No space left on device" in output:
        raise DatabaseRefused(_describe_full_disk(layout.home))
    name = Path(command[0]).name
    raise DatabaseRefused(
        f"A new database could not be created in {layout.home}. {name} reports: {output}"
    )


def _refuse_full_disk(folder: Path) -> None:
    if shutil.disk_usage(folder).free < MIN_FREE_BYTES_NEW_CLUSTER:
        raise DatabaseRefused(_describe_full_disk(folder))


def _describe_full_disk(folder: Path) -> str:
    needed = MIN_FREE_BYTES_NEW_CLUSTER // 1024**2
    return (
        f"The disk of {folder} is too full for a new database, which needs {needed} MB."
        " Free some space, or choose another folder with SCRAPERSKY_DATA_DIR."
    )


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
