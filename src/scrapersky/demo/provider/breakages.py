"""Answers that broke on their way."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from scrapersky.demo.provider.troubles import Planned, Trouble

_PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Guest network</body></html>"


def broken(planned: Planned, document: Any) -> web.Response | None:
    """In place of the document; nothing when this trouble is not of that kind."""
    match planned.trouble:
        case Trouble.WEB_PAGE:
            return web.Response(text=_PAGE, content_type="text/html")
        case Trouble.NOT_JSON:
            return web.Response(text="OK", content_type="text/plain")
        case Trouble.EMPTY:
            return web.Response(body=b"", content_type="application/json")
        case Trouble.TRUNCATED:
            text = json.dumps(document)
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        case Trouble.REDIRECT:
            return web.Response(status=302, headers={"Location": "http://elsewhere.example/"})
    return None
