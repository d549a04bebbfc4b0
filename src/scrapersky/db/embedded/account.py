"""The operating system user that PostgreSQL runs as."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from scrapersky.errors import DatabaseRefused

UNPRIVILEGED_USERS = ("postgres", "nobody")
"""Users that root switches to for the server, which refuses to run as root. The first that exists
is used.
"""


class UserSwitchArguments(TypedDict, total=False):
    """Arguments of `subprocess` that switch the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """A user of the operating system."""

    name: str
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        return self.uid == os.geteuid()

    def switch(self) -> UserSwitchArguments:
        if self.is_ours:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, *command: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command to completion as this user, without the caller's environment."""
        try:
            return subprocess.run(
                [str(part) for part in command],
                input=stdin,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                cwd="/",
                env=build_clean_env(),
                check=False,
                start_new_session=True,  # Ctrl-C is meant for us, not for the child
                **self.switch(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            # Too few capabilities to switch the user, or a program that the user cannot reach.
            return subprocess.CompletedProcess(command, 126, "", str(error))

    def can_enter(self, folder: Path) -> bool:
        """Return whether this user can enter the folder.

        It is tried for real, so that ACLs and mounts count as well as mode bits.
        """
        if self.is_ours:
            return os.access(folder, os.X_OK)
        return self.run("/bin/sh", "-c", 'test -x "$1"', "sh", folder).returncode == 0

    def require_switchable(self) -> None:
        """Raise an error if root lacks the capability to switch to this user."""
        if self.run("/bin/sh", "-c", ":").returncode != 0:
            raise DatabaseRefused(
                "PostgreSQL refuses to run as root, and this process cannot switch to user "
                f"{self.name}."
                " Grant it CAP_SETUID and CAP_SETGID, run as an ordinary user, or set DATABASE_URL."
            )


def build_clean_env() -> dict[str, str]:
    """Build an environment without PG*, LC_* and LD_* variables, with English messages."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def get_server_account(cluster_owner: int | None = None) -> Account:
    """Return the user to run the server as.

    That is the current user; for root, the owner of an existing cluster or else the first
    unprivileged user.
    """
    if os.geteuid() != 0:
        return Account(get_user_name(os.geteuid()), os.geteuid(), os.getegid())
    accounts = [each for each in map(_find_account, UNPRIVILEGED_USERS) if each is not None]
    if not accounts:
        raise DatabaseRefused(
            "PostgreSQL refuses to run as root, and neither user postgres nor nobody exists."
            " Create one, run as an ordinary user, or set DATABASE_URL."
        )
    return next((each for each in accounts if each.uid == cluster_owner), accounts[0])


def _find_account(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, entry.pw_uid, entry.pw_gid) if entry.pw_uid != 0 else None


def get_user_name(uid: int) -> str:
    """Return the user's name, or the UID if it has none, as in containers."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
