"""Remove a cluster and everything that came with it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from scrapersky.db.embedded import cluster as clusters
from scrapersky.db.embedded.layout import POINTER, RECORD, Layout, find_layout, start_lock
from scrapersky.db.embedded.locks import Reference, open_lock, try_exclusive
from scrapersky.db.embedded.logfile import older_log
from scrapersky.db.embedded.process import find_postmaster
from scrapersky.db.embedded.sockets import clear_sockets, remove_socket_folder, socket_folder
from scrapersky.errors import DatabaseRefused


def remove_cluster(data_dir: Path) -> None:
    """Remove what we made, here and behind the pointer; only under the start lock.

    The data folder itself stays, and anything in it that is not ours.
    """
    layout = find_layout(data_dir)
    if layout is not None:
        _refuse_if_used(layout)
        _refuse_if_not_a_cluster(layout.cluster)
        _remove(layout)
    start_lock(data_dir).unlink(missing_ok=True)


def _refuse_if_used(layout: Layout) -> None:
    reference, alive = Reference(layout.holders), open_lock(layout.alive)
    try:
        unused = reference.is_the_last() and try_exclusive(alive)
        if not unused or find_postmaster(layout.cluster):
            raise DatabaseRefused(
                f"The database of {layout.data_dir} is in use; stop what uses it first."
            )
    finally:
        reference.drop()
        os.close(alive)


def _refuse_if_not_a_cluster(cluster: Path) -> None:
    if not clusters.is_missing(cluster) and not (cluster / "PG_VERSION").is_file():
        raise DatabaseRefused(f"{cluster} is not a PostgreSQL cluster; remove it by hand.")


def _remove(layout: Layout) -> None:
    clusters.remove_unfinished(layout)
    if layout.cluster.exists():
        shutil.rmtree(layout.cluster)
    if layout.home != layout.data_dir:
        (layout.home / RECORD).unlink(missing_ok=True)
        layout.home.rmdir()
        (layout.data_dir / POINTER).unlink()
    for left in (layout.log, older_log(layout.log), layout.holders, layout.alive):
        left.unlink(missing_ok=True)
    clear_sockets(socket_folder(layout))
    remove_socket_folder(layout)
