"""Checks of everything the embedded server depends on, for `scrapersky doctor`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account, get_server_account
from scrapersky.db.embedded.binaries import Binaries, find_binaries, get_copy_folder
from scrapersky.db.embedded.cluster import (
    MIN_FREE_BYTES_NEW_CLUSTER,
    find_cluster_problem,
    find_user_problem,
    is_cluster_missing,
)
from scrapersky.db.embedded.layout import (
    Layout,
    find_layout,
    get_socket_base,
    get_socket_folder,
    refuse_open_socket_folder,
    resolve_data_dir,
)
from scrapersky.db.embedded.locks import list_holders
from scrapersky.db.embedded.process import PidState, classify_pid, find_postmaster, read_pid_file
from scrapersky.errors import ScraperSkyError

MIN_FREE_BYTES_RUNNING = 64 * 1024 * 1024
"""Room for a few WAL segments. With less, the next large write may fail."""


@dataclass(frozen=True)
class CheckResult:
    """Result of one check. A result that is not `ok` prevents the server from starting."""

    name: str
    ok: bool
    sentence: str
    is_warning: bool = False
    """It works but deserves attention."""


def diagnose(data_dir: Path, pg_bin: Path | None = None) -> list[CheckResult]:
    """Check everything that a start depends on, in order of importance; never raises."""
    examined: list[tuple[str, Callable[[], str]]] = [
        ("programs", lambda: _check_programs(find_binaries(pg_bin))),
        ("user", lambda: _check_user(get_server_account())),
        ("data folder", lambda: _check_data_folder(resolve_data_dir(data_dir))),
        ("disk", lambda: _check_disk(resolve_data_dir(data_dir))),
        ("cluster", lambda: _check_cluster(resolve_data_dir(data_dir), find_binaries(pg_bin))),
        ("server", lambda: _check_server(_find_layout(resolve_data_dir(data_dir)))),
        ("pid file", lambda: _check_pid_file(_find_layout(resolve_data_dir(data_dir)))),
        ("socket folder", lambda: _check_sockets(_find_layout(resolve_data_dir(data_dir)))),
        ("in use by", lambda: _check_holders(_find_layout(resolve_data_dir(data_dir)))),
    ]
    return [_run_check(name, examine) for name, examine in examined]


def _run_check(name: str, examine: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(name, True, examine())
    except (ScraperSkyError, OSError) as error:
        return CheckResult(name, False, str(error))


class _CheckFailed(ScraperSkyError):
    """A failed check."""


def _check_programs(binaries: Binaries) -> str:
    place = f"PostgreSQL {binaries.version} in {binaries.folder}"
    account = get_server_account()
    if binaries.is_runnable(account):
        return f"{place}."
    if not binaries.is_bundled:
        raise _CheckFailed(f"{place}, where {account.name} cannot run it. Check SCRAPERSKY_PG_BIN.")
    return (
        f"{place}. {account.name} cannot enter it and uses a copy in {get_copy_folder(binaries)}."
    )


def _check_user(account: Account) -> str:
    if account.is_ours:
        return f"The server runs as {account.name}."
    return f"Running as root; the server runs as {account.name} (uid {account.uid})."


def _check_data_folder(data_dir: Path) -> str:
    folders.refuse_long_path(data_dir)
    if not data_dir.exists():
        above = _find_nearest_folder(data_dir)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise _CheckFailed(f"{data_dir} cannot be created in {above}. Set SCRAPERSKY_DATA_DIR.")
        return f"{data_dir} does not exist yet and will be created."
    if problem := folders.find_data_folder_problem(data_dir):
        raise _CheckFailed(problem)
    return f"{data_dir} is writable."


def _check_disk(data_dir: Path) -> str:
    layout = _find_layout(data_dir)
    place = _find_nearest_folder(layout.home if layout else folders.SHARED_ROOT)
    free = shutil.disk_usage(place).free
    fresh = layout is None or is_cluster_missing(layout.cluster)
    needed = MIN_FREE_BYTES_NEW_CLUSTER if fresh else MIN_FREE_BYTES_RUNNING
    sentence = f"{free // 1024**2:,} MB are free on the disk of {place}"
    if free < needed:
        raise _CheckFailed(f"{sentence}, but {needed // 1024**2} MB are needed. Free some space.")
    return f"{sentence}."


def _check_cluster(data_dir: Path, binaries: Binaries) -> str:
    layout = _find_layout(data_dir)
    if layout is None:
        where = folders.SHARED_ROOT / "clusters"
        return (
            f"None yet. It will be created in {where}, because the server's user cannot enter "
            "the "
            "data folder."
        )
    fresh = is_cluster_missing(layout.cluster)
    problem = (
        find_user_problem(layout.account)
        if fresh
        else find_cluster_problem(layout.cluster, binaries)
    )
    if problem:
        raise _CheckFailed(problem)
    if fresh:
        return f"None yet. It will be created in {layout.home}."
    return f"PostgreSQL {binaries.major} cluster in {layout.cluster}."


def _check_server(layout: Layout | None) -> str:
    postmaster = find_postmaster(layout.cluster) if layout else None
    if layout is None or postmaster is None:
        return "Not running; it starts when it is needed."
    noted = read_pid_file(layout.cluster)
    return f"Running as process {postmaster.pid} ({noted.status if noted else 'starting'})."


def _check_pid_file(layout: Layout | None) -> str:
    noted = read_pid_file(layout.cluster) if layout else None
    if layout is None or noted is None:
        return "None, as expected while the server is stopped."
    what = classify_pid(noted.pid, layout.cluster)
    if what is PidState.DOUBTFUL:
        raise _CheckFailed(f"Process {noted.pid} may be using {layout.cluster}. Stop it.")
    if what is PidState.OURS:
        return f"Names process {noted.pid}, the server."
    return f"Stale: process {noted.pid} is {what}. It is removed at the next start."


def _check_sockets(layout: Layout | None) -> str:
    base = get_socket_base()
    if base.is_symlink() or base.exists():
        folders.refuse_unless_private(base, owner=os.geteuid(), others_may_enter=True)
    if layout is None or not get_socket_folder(layout).exists():
        return f"Will be created in {base}."
    refuse_open_socket_folder(get_socket_folder(layout), layout.account)
    return f"{get_socket_folder(layout)} is accessible to {layout.account.name} only."


def _check_holders(layout: Layout | None) -> str:
    pids = list_holders(layout.holders) if layout else []
    if not pids:
        return "Nobody."
    return f"{'Process' if len(pids) == 1 else 'Processes'} {', '.join(map(str, pids))}."


def _find_layout(data_dir: Path) -> Layout | None:
    """Return the layout, or None if the cluster would be created below `/var/lib`."""
    if data_dir.is_dir():
        return find_layout(data_dir)
    account = get_server_account()
    return (
        Layout(data_dir, data_dir, account)
        if account.can_enter(_find_nearest_folder(data_dir))
        else None
    )


def _find_nearest_folder(path: Path) -> Path:
    """Return the path itself, or its closest existing parent folder."""
    return next(each for each in (path, *path.parents) if each.exists())
