"""The hosts that many businesses share, as the table beside this file says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from scrapersky.scraper.contact_finder.suffixes import publicly_registered

TABLE = "shared_hosts.txt"
ANY_SUFFIX = "*"
_SECTION = re.compile(r"\[(?P<kind>\w+)\] (?P<reason>.+)")


@dataclass(frozen=True, slots=True)
class Shared:
    """A group of hosts: what a website there is, and why."""

    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """The entry that fits a host, and the group it stands in."""

    entry: str
    group: Shared


def shared_host(host: str, path: str = "/") -> Found | None:
    """Of a lower-case host without `www.`; the longest entry that fits it decides."""
    table = _table()
    for name in _names(host):
        entries = table.get(name, {})
        if name in (host, _starred(host)):
            for start in sorted(filter(None, entries), key=len, reverse=True):
                if f"{path}/".startswith(f"/{start}/"):
                    return Found(name, entries[start])
        if "" in entries:
            return Found(name, entries[""])
    return None


def _names(host: str) -> Iterator[str]:
    """The host and those above it, each also under any suffix, the longest first."""
    starred = _starred(host)
    labels = host.split(".")
    for place in range(len(labels)):
        name = ".".join(labels[place:])
        yield name
        if starred and len(rest := starred.split(".")) > place + 1:
            yield ".".join(rest[place:])


@cache
def _table() -> dict[str, dict[str, Shared]]:
    """By host, then by the path below which it counts: empty for all of it."""
    table: dict[str, dict[str, Shared]] = {}
    group: Shared | None = None
    for line in files(__package__).joinpath(TABLE).read_text("utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            group = Shared(section["kind"], section["reason"])
        elif group is not None and not line.startswith("#"):
            for entry in line.split():
                host, _, path = entry.partition("/")
                table.setdefault(host, {})[path] = group
    return table


def _starred(host: str) -> str | None:
    """`yelp.*` for `yelp.co.uk`."""
    registered = publicly_registered(host)
    if registered is None:
        return None
    suffix = registered.partition(".")[2]
    return f"{host.removesuffix(suffix)}{ANY_SUFFIX}"


def entries() -> Iterator[tuple[str, Shared]]:
    """Every host of the table with its group."""
    for host, paths in _table().items():
        for path, group in paths.items():
            yield (f"{host}/{path}" if path else host), group
