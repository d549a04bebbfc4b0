"""Create and check folders without changing what belongs to other users."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrapersky.db.embedded.account import Account, get_user_name
from scrapersky.errors import DatabaseRefused

SHARED_ROOT = Path("/var/lib/scrapersky")
"""Root's folder for files that an unprivileged server must be able to reach."""

MAX_PATH_BYTES = 900
"""Maximum length of a data folder's path. PostgreSQL stores such paths in 1024 bytes."""


def make_folder(path: Path, mode: int) -> None:
    """Create a folder with this mode regardless of the umask; leave an existing one unchanged."""
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return
    path.chmod(mode)


def ensure_data_folder(path: Path) -> None:
    """Create the data folder if it is missing; refuse one that is unsuitable."""
    refuse_long_path(path)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Root's server runs as another user, which must be able to traverse this folder to its
        # cluster.
        make_folder(path, 0o711 if os.geteuid() == 0 else 0o700)
    if problem := find_data_folder_problem(path):
        raise DatabaseRefused(problem)


def find_data_folder_problem(path: Path) -> str | None:
    """Return why this existing path cannot be the data folder, in one sentence, or None."""
    facts = path.stat()
    advice = "choose another folder with SCRAPERSKY_DATA_DIR."
    own = f"set SCRAPERSKY_DATA_DIR to a folder of your own, such as {path / 'scrapersky'}."
    if not stat.S_ISDIR(facts.st_mode):
        return f"The data folder {path} is a file; {advice}"
    if facts.st_uid != os.geteuid():
        owner = get_user_name(facts.st_uid)
        way_out = own if os.access(path, os.W_OK | os.X_OK) else advice
        return f"The data folder {path} belongs to {owner}; run as {owner}, or {way_out}"
    if facts.st_mode & stat.S_IWOTH:
        return f"Any user may write to the data folder {path}; {own}"
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return f"The data folder {path} is not writable; make it writable, or {advice}"
    return None


def refuse_long_path(path: Path) -> None:
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise DatabaseRefused(
            f"The path of the data folder is longer than {MAX_PATH_BYTES} bytes, which PostgreSQL"
            " cannot handle. Choose a shorter one with SCRAPERSKY_DATA_DIR."
        )


def ensure_shared_folder(name: str, account: Account) -> Path:
    """Create `/var/lib/scrapersky/<name>`: writable by root, enterable by the server's user."""
    for folder in (SHARED_ROOT, SHARED_ROOT / name):
        make_folder(folder, 0o711)
        refuse_unless_private(folder, owner=0, others_may_enter=True)
    if not account.can_enter(SHARED_ROOT / name):
        raise DatabaseRefused(
            f"The user {account.name}, who runs PostgreSQL for root, cannot enter "
            f"{SHARED_ROOT / name}. Allow it (chmod a+x {SHARED_ROOT}), or set DATABASE_URL."
        )
    return SHARED_ROOT / name


def refuse_unless_private(path: Path, *, owner: int, others_may_enter: bool = False) -> None:
    """Refuse a symlink, another user's folder, or one that others could modify."""
    facts = path.lstat()
    forbidden = 0o022 if others_may_enter else 0o077
    if not stat.S_ISDIR(facts.st_mode):
        raise DatabaseRefused(f"{path} is not a folder. Remove it and start again.")
    if facts.st_uid != owner:
        raise DatabaseRefused(
            f"{path} belongs to {get_user_name(facts.st_uid)} instead of {get_user_name(owner)}."
            " Remove it and start again."
        )
    if facts.st_mode & forbidden:
        raise DatabaseRefused(
            f"Other users have access to {path}. Remove it, or chmod"
            f" {0o711 if others_may_enter else 0o700:o} it, and start again."
        )


@contextmanager
def translate_os_errors(data_dir: Path) -> Iterator[None]:
    """Raise `OSError` as `DatabaseRefused` with a message that says what to do."""
    try:
        yield
    except OSError as error:
        raise DatabaseRefused(_describe_os_error(error, data_dir)) from error


def _describe_os_error(error: OSError, data_dir: Path) -> str:
    where = error.filename or data_dir
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of {where} is full. Free some space and start again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"{where} is not writable ({error.strerror})."
            " Choose another folder with SCRAPERSKY_DATA_DIR, or set DATABASE_URL."
        )
    return (
        f"The data folder {data_dir} cannot be used ({where}: {error.strerror})."
        " Choose another with SCRAPERSKY_DATA_DIR, or set DATABASE_URL."
    )
