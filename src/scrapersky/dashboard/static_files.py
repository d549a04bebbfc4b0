"""Scripts, styles and pictures, kept by browsers until they change."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from scrapersky.dashboard.rendering import STATIC

FOR_EVER = "public, max-age=31536000, immutable"


class KeptFiles(StaticFiles):
    """The version in their address changes with them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = FOR_EVER
        return answer


STATIC_FILES = Mount("/static/{version}", KeptFiles(directory=STATIC), name="static")
