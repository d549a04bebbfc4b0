"""What stands in the way of the embedded server, for `scrapersky doctor`; changes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account, server_account
from scrapersky.db.embedded.binaries import Binaries, find_binaries
from scrapersky.db.embedded.cluster import (
    FREE_BYTES_FOR_A_NEW_CLUSTER,
    is_missing,
    objection_to_cluster,
    objection_to_user,
)
from scrapersky.db.embedded.copies import copy_folder
from scrapersky.db.embedded.layout import Layout, find_layout, resolved
from scrapersky.db.embedded.locks import holders_of
from scrapersky.db.embedded.process import Standing, find_postmaster, read_pid_file, standing
from scrapersky.db.embedded.sockets import (
    refuse_open_socket_folder,
    socket_base,
    socket_folder,
)
from scrapersky.errors import ScraperSkyError

FREE_BYTES_TO_GO_ON = 64 * 1024 * 1024
"""A few segments of the write-ahead log; with less, the next big write may fail."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; what is not `ok` keeps the server from starting."""

    name: str
    ok: bool
    sentence: str
    is_warning: bool = False
    """It works and deserves a look."""


def diagnose(data_dir: Path, pg_bin: Path | None = None) -> list[Finding]:
    """Look at everything a start depends on, in the order it matters; never raises."""
    examined: list[tuple[str, Callable[[], str]]] = [
        ("programs", lambda: _programs(find_binaries(pg_bin))),
        ("user", lambda: _user(server_account())),
        ("data folder", lambda: _data_folder(resolved(data_dir))),
        ("disk", lambda: _disk(resolved(data_dir))),
        ("cluster", lambda: _cluster(resolved(data_dir), find_binaries(pg_bin))),
        ("server", lambda: _server(_layout(resolved(data_dir)))),
        ("pid file", lambda: _pid_file(_layout(resolved(data_dir)))),
        ("socket folder", lambda: _sockets(_layout(resolved(data_dir)))),
        ("in use by", lambda: _holders(_layout(resolved(data_dir)))),
    ]
    return [_finding(name, examine) for name, examine in examined]


def _finding(name: str, examine: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, examine())
    except (ScraperSkyError, OSError) as error:
        return Finding(name, False, str(error))


class _Wrong(ScraperSkyError):
    """A finding that is not in order."""


def _programs(binaries: Binaries) -> str:
    found = f"PostgreSQL {binaries.version} in {binaries.folder}"
    account = server_account()
    if binaries.run_for(account):
        return f"{found}."
    if not binaries.are_from_the_wheel:
        raise _Wrong(f"{found}, where {account.name} cannot run it; see SCRAPERSKY_PG_BIN.")
    return f"{found}; {account.name} cannot go there and uses a copy in {copy_folder(binaries)}."


def _user(account: Account) -> str:
    if account.is_ours:
        return f"The server runs as {account.name}."
    return f"We are root; the server runs as {account.name} (uid {account.uid})."


def _data_folder(data_dir: Path) -> str:
    folders.refuse_long_path(data_dir)
    if not data_dir.exists():
        above = _nearest(data_dir)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise _Wrong(f"{data_dir} cannot be made in {above}; set SCRAPERSKY_DATA_DIR.")
        return f"{data_dir} is not there yet and will be made."
    if objection := folders.objection_to_data_folder(data_dir):
        raise _Wrong(objection)
    return f"{data_dir} is ours and can be written to."


def _disk(data_dir: Path) -> str:
    layout = _layout(data_dir)
    place = _nearest(layout.home if layout else folders.SHARED)
    free = shutil.disk_usage(place).free
    fresh = layout is None or is_missing(layout.cluster)
    needed = FREE_BYTES_FOR_A_NEW_CLUSTER if fresh else FREE_BYTES_TO_GO_ON
    sentence = f"{free // 1024**2:,} MB are free under {place}"
    if free < needed:
        raise _Wrong(f"{sentence}, at least {needed // 1024**2} MB are needed; free some space.")
    return f"{sentence}."


def _cluster(data_dir: Path, binaries: Binaries) -> str:
    layout = _layout(data_dir)
    if layout is None:
        where = folders.SHARED / "clusters"
        return f"None yet; it will be made in {where}, for the server's user cannot enter here."
    fresh = is_missing(layout.cluster)
    objection = (
        objection_to_user(layout.account)
        if fresh
        else objection_to_cluster(layout.cluster, binaries)
    )
    if objection:
        raise _Wrong(objection)
    if fresh:
        return f"None yet; it will be made in {layout.home}."
    return f"A cluster of PostgreSQL {binaries.major} in {layout.cluster}."


def _server(layout: Layout | None) -> str:
    postmaster = find_postmaster(layout.cluster) if layout else None
    if layout is None or postmaster is None:
        return "Not running; it starts when it is needed."
    noted = read_pid_file(layout.cluster)
    return f"Running as process {postmaster.pid} ({noted.status if noted else 'starting'})."


def _pid_file(layout: Layout | None) -> str:
    noted = read_pid_file(layout.cluster) if layout else None
    if layout is None or noted is None:
        return "None, as it should be while the server is stopped."
    what = standing(noted.pid, layout.cluster)
    if what is Standing.DOUBTFUL:
        raise _Wrong(f"Process {noted.pid} may be using {layout.cluster}; stop it.")
    if what is Standing.OURS:
        return f"It names process {noted.pid}, the server."
    return f"A stale one: process {noted.pid} is {what}; it is cleared at the next start."


def _sockets(layout: Layout | None) -> str:
    base = socket_base()
    if base.is_symlink() or base.exists():
        folders.refuse_unless_private(base, owner=os.geteuid(), others_may_enter=True)
    if layout is None or not socket_folder(layout).exists():
        return f"It will be made in {base}."
    refuse_open_socket_folder(socket_folder(layout), layout.account)
    return f"{socket_folder(layout)} lets only {layout.account.name} in."


def _holders(layout: Layout | None) -> str:
    pids = holders_of(layout.holders) if layout else []
    if not pids:
        return "Nobody."
    return f"{'Process' if len(pids) == 1 else 'Processes'} {', '.join(map(str, pids))}."


def _layout(data_dir: Path) -> Layout | None:
    """None when the cluster would be made below `/var/lib`."""
    if data_dir.is_dir():
        return find_layout(data_dir)
    account = server_account()
    return Layout(data_dir, data_dir, account) if account.can_enter(_nearest(data_dir)) else None


def _nearest(path: Path) -> Path:
    """The path itself or the closest folder above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())
