"""Pages from templates. Whatever came from outside is escaped; no script but our own runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from scrapersky import __version__
from scrapersky.dashboard.navigation import navigation_for
from scrapersky.dashboard.wording import FILTERS
from scrapersky.http.auth import OPEN, Identity
from scrapersky.http.context import AppContext, Context
from scrapersky.models import Actor

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # What a page shows is for the one who asked, and old a moment later.
    "Cache-Control": "no-store",
}


@cache
def static_version() -> str:
    """Another one with every change of a file, so that browsers may keep them for ever."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.rglob("*.*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def static(path: str) -> str:
    return f"/static/{static_version()}/{path}"


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("scrapersky.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals.update(static=static, version=__version__)
    return made


def render(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(values)


@dataclass(frozen=True)
class Show:
    """Makes pages for one who asks."""

    request: Request
    context: AppContext
    actor: Actor | None
    """None on the pages for those who have not signed in."""

    def page(self, template: str, *, title: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A whole page, in its frame."""
        shown = {**self._frame(), "title": title, **values}
        return HTMLResponse(render(template, shown), status, headers=HEADERS)

    def part(self, template: str, **values: Any) -> str:
        """A part of a page, to be put in the place of an older one."""
        return render(template, {**self._frame(), **values})

    def _frame(self) -> dict[str, Any]:
        path = self.request.url.path
        return {
            "actor": self.actor,
            "is_open": self.context.settings.auth_mode == OPEN,
            "navigation": navigation_for(self.actor, path),
            "path": path,
            "csrf": getattr(self.request.state, "csrf", ""),
            "user_name": getattr(self.request.state, "user_name", ""),
            "ignored": ignored_values(self.request),
        }


def ignored_values(request: Request) -> list[str]:
    """A sentence for each value of the query that is not valid and was left out."""
    found: list[str] = getattr(request.state, "ignored", [])
    return found


def get_show(request: Request, context: Context, actor: Identity) -> Show:
    return Show(request, context, actor)


Showing = Annotated[Show, Depends(get_show)]
