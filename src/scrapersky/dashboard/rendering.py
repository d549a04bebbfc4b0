"""Render pages from Jinja templates with strict security headers, and serve static files."""

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
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from scrapersky import __version__
from scrapersky.dashboard.formats import FILTERS
from scrapersky.dashboard.navigation import build_navigation
from scrapersky.http.application import AppContext, Context
from scrapersky.http.auth import OPEN_MODE, Identity
from scrapersky.models import Actor

STATIC_DIR = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Pages are personal and outdated within seconds.
    "Cache-Control": "no-store",
}


@cache
def static_version() -> str:
    """Return a hash of all static files, so that browsers may cache them forever."""
    digest = hashlib.sha256()
    for path in sorted(STATIC_DIR.rglob("*.*")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def static_url(path: str) -> str:
    return f"/static/{static_version()}/{path}"


@cache
def get_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scrapersky.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(static=static_url, version=__version__)
    return environment


def render(template: str, values: Mapping[str, Any]) -> str:
    return get_environment().get_template(template).render(values)


@dataclass(frozen=True)
class PageRenderer:
    """Renders pages for one request."""

    request: Request
    context: AppContext
    actor: Actor | None
    """None before sign-in."""

    def page(self, template: str, *, title: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a full page."""
        context = {**self._frame(), "title": title, **values}
        return HTMLResponse(render(template, context), status, headers=PAGE_HEADERS)

    def part(self, template: str, **values: Any) -> str:
        """Render a fragment that replaces a part of a page."""
        return render(template, {**self._frame(), **values})

    def _frame(self) -> dict[str, Any]:
        path = self.request.url.path
        return {
            "actor": self.actor,
            "is_open": self.context.settings.auth_mode == OPEN_MODE,
            "navigation": build_navigation(self.actor, path),
            "path": path,
            "csrf": getattr(self.request.state, "csrf", ""),
            "user_name": getattr(self.request.state, "user_name", ""),
            "ignored": get_ignored_values(self.request),
        }


def get_ignored_values(request: Request) -> list[str]:
    """Return a message for each invalid query value that was ignored."""
    ignored: list[str] = getattr(request.state, "ignored", [])
    return ignored


def get_renderer(request: Request, context: Context, actor: Identity) -> PageRenderer:
    return PageRenderer(request, context, actor)


Renderer = Annotated[PageRenderer, Depends(get_renderer)]


CACHE_FOREVER = "public, max-age=31536000, immutable"


class CachedStaticFiles(StaticFiles):
    """Static files with a version in their path, cached forever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = CACHE_FOREVER
        return answer


STATIC_FILES = Mount("/static/{version}", CachedStaticFiles(directory=STATIC_DIR), name="static")
