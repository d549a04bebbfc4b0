"""The private folder with the server's socket; whoever can enter it is the database's superuser."""

from __future__ import annotations

import os
from pathlib import Path

from scrapersky.db.embedded import folders
from scrapersky.db.embedded.account import Account
from scrapersky.db.embedded.layout import Layout

# Not in the data folder: a socket's whole path must fit into 107 bytes.
# Not in XDG_RUNTIME_DIR: logging out removes it under a server that others still use.


def socket_base() -> Path:
    """`/run/scrapersky` for root, `/tmp/scrapersky-<uid>` for everybody else."""
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run/scrapersky")
    return Path(f"/tmp/scrapersky-{os.geteuid()}")  # noqa: S108 (its owner is checked)


def socket_folder(layout: Layout) -> Path:
    return socket_base() / layout.digest


def make_socket_folder(layout: Layout) -> Path:
    """Make or check the folder; one that somebody else prepared is refused."""
    base, folder = socket_base(), socket_folder(layout)
    folders.make_folder(base, 0o700 if layout.account.is_ours else 0o711)
    folders.refuse_unless_private(base, owner=os.geteuid(), others_may_enter=True)
    if not folder.exists():
        folders.make_folder(folder, 0o700)
        os.chown(folder, layout.account.uid, layout.account.gid, follow_symlinks=False)
    refuse_open_socket_folder(folder, layout.account)
    return folder


def refuse_open_socket_folder(folder: Path, account: Account) -> None:
    folders.refuse_unless_private(folder, owner=account.uid)


def clear_sockets(folder: Path) -> None:
    """Remove what a killed server left; only while none of ours is running.

    PostgreSQL would refuse to start when the left lock file's pid is now somebody else's.
    """
    for left in folder.glob(".s.PGSQL.*"):
        left.unlink(missing_ok=True)


def remove_socket_folder(layout: Layout) -> None:
    """After a stop. A server whose data folder was taken away ends without clearing up its
    socket, so that is done here; anything else in the folder stays, and the folder with it."""
    folder = socket_folder(layout)
    try:
        for left_behind in folder.glob(".s.PGSQL.*"):
            left_behind.unlink()
        folder.rmdir()
    except OSError:
        return
