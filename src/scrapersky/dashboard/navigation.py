"""Where one can go from any page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scrapersky.models import Actor, Role


@dataclass(frozen=True)
class Place:
    """An entry of the navigation."""

    title: str
    path: str
    role: Role = Role.VIEWER
    operator: bool = False
    """Whether it concerns all tenants together, and so the default tenant's people only."""

    def is_for(self, actor: Actor) -> bool:
        return actor.role.includes(self.role) and (actor.is_operator or not self.operator)


@dataclass(frozen=True)
class Entry:
    place: Place
    current: bool


@dataclass(frozen=True)
class Group:
    title: str
    entries: tuple[Entry, ...]


WORK = (
    Place("Overview", "/"),
    Place("Leads", "/leads"),
    Place("Contacts", "/contacts"),
    Place("Pages", "/pages"),
    Place("Sitemaps", "/sitemap-files"),
    Place("Domains", "/domains"),
    Place("Searches", "/searches"),
    Place("Places", "/places"),
    Place("Businesses", "/local-businesses"),
    Place("Merge review", "/merge-review"),
    Place("Jobs", "/jobs"),
)
OPERATIONS = (
    Place("Stages", "/stages", operator=True),
    Place("Workers", "/workers", operator=True),
    Place("Hosts", "/hosts", operator=True),
    Place("Dead letters", "/dead-letters"),
    Place("Alerts", "/alerts", operator=True),
    Place("Settings", "/settings", Role.ADMIN, operator=True),
)
ACCOUNTS = (
    Place("Do-not-contact", "/suppressions"),
    Place("Bulk actions", "/bulk-actions"),
    Place("Budget", "/budget"),
    Place("Users", "/users", Role.ADMIN),
    Place("API keys", "/api-keys", Role.ADMIN),
    Place("Webhooks", "/webhooks", Role.ADMIN),
    Place("Audit log", "/audit-log", Role.ADMIN),
)
GROUPS = {"Work": WORK, "Operations": OPERATIONS, "Team": ACCOUNTS}


def navigation_for(actor: Actor | None, path: str) -> tuple[Group, ...]:
    """What this one may see; nothing for those who have not signed in."""
    return () if actor is None else tuple(_groups(actor, path))


def _groups(actor: Actor, path: str) -> Iterator[Group]:
    for title, places in GROUPS.items():
        entries = tuple(Entry(each, _is_at(each, path)) for each in places if each.is_for(actor))
        if entries:
            yield Group(title, entries)


def _is_at(place: Place, path: str) -> bool:
    if place.path == "/":
        return path == "/"
    return path == place.path or path.startswith(f"{place.path}/")
