"""The navigation menu, and the paths at which rows of each table are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scrapersky.models import Actor, Role


@dataclass(frozen=True)
class NavLink:
    """An entry of the navigation menu."""

    title: str
    path: str
    role: Role = Role.VIEWER
    operator: bool = False
    """Whether it covers all tenants and is therefore limited to the default tenant's users."""

    def is_allowed(self, actor: Actor) -> bool:
        return actor.role.includes(self.role) and (actor.is_operator or not self.operator)


@dataclass(frozen=True)
class NavEntry:
    place: NavLink
    current: bool


@dataclass(frozen=True)
class NavGroup:
    title: str
    entries: tuple[NavEntry, ...]


WORK_LINKS = (
    NavLink("Overview", "/"),
    NavLink("Leads", "/leads"),
    NavLink("Contacts", "/contacts"),
    NavLink("Pages", "/pages"),
    NavLink("Sitemaps", "/sitemap-files"),
    NavLink("Domains", "/domains"),
    NavLink("Searches", "/searches"),
    NavLink("Places", "/places"),
    NavLink("Businesses", "/local-businesses"),
    NavLink("Merge review", "/merge-review"),
    NavLink("Jobs", "/jobs"),
)
OPERATIONS_LINKS = (
    NavLink("Stages", "/stages", operator=True),
    NavLink("Workers", "/workers", operator=True),
    NavLink("Hosts", "/hosts", operator=True),
    NavLink("Dead letters", "/dead-letters"),
    NavLink("Alerts", "/alerts", operator=True),
    NavLink("Settings", "/settings", Role.ADMIN, operator=True),
)
TEAM_LINKS = (
    NavLink("Do-not-contact", "/suppressions"),
    NavLink("Bulk actions", "/bulk-actions"),
    NavLink("Budget", "/budget"),
    NavLink("Users", "/users", Role.ADMIN),
    NavLink("API keys", "/api-keys", Role.ADMIN),
    NavLink("Webhooks", "/webhooks", Role.ADMIN),
    NavLink("Audit log", "/audit-log", Role.ADMIN),
)
LINK_GROUPS = {"Work": WORK_LINKS, "Operations": OPERATIONS_LINKS, "Team": TEAM_LINKS}


def build_navigation(actor: Actor | None, path: str) -> tuple[NavGroup, ...]:
    """Return the entries that this actor may see; none before sign-in."""
    return () if actor is None else tuple(_iter_groups(actor, path))


def _iter_groups(actor: Actor, path: str) -> Iterator[NavGroup]:
    for title, places in LINK_GROUPS.items():
        entries = tuple(
            NavEntry(each, _is_current(each, path)) for each in places if each.is_allowed(actor)
        )
        if entries:
            yield NavGroup(title, entries)


def _is_current(place: NavLink, path: str) -> bool:
    if place.path == "/":
        return path == "/"
    return path == place.path or path.startswith(f"{place.path}/")


ROW_PATHS = {
    "domains": "/domains",
    "jobs": "/jobs",
    "local_businesses": "/local-businesses",
    "pages": "/pages",
    "places": "/places",
    "sitemap_files": "/sitemap-files",
    "webhook_deliveries": "/webhook-deliveries",
}
"""Paths of lists; each row has a detail page below its path."""
LIST_PATHS = {**ROW_PATHS, "webhook_deliveries": "/webhooks"}
