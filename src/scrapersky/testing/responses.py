"""aiohttp handlers for fake sites: pages, files, redirects, slow bodies and failures."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

XML_TYPE = "application/xml"
SLOW_CHUNKS = 20
"""Number of chunks in which a slow body is sent."""


def serve_bytes(
    data: bytes,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Handler:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        sent = {"Content-Type": content_type, **(headers or {})}
        return web.Response(body=data, status=status, headers=sent)

    return answer


def serve_html(html: str, *, status: int = 200) -> Handler:
    return serve_bytes(html.encode(), "text/html; charset=utf-8", status=status)


def serve_text(text: str) -> Handler:
    return serve_bytes(text.encode(), "text/plain; charset=utf-8")


def serve_xml(text: str) -> Handler:
    return serve_bytes(text.encode(), XML_TYPE)


def serve_gzip(text: str) -> Handler:
    """Serve a compressed file, with deterministic bytes."""
    return serve_bytes(gzip.compress(text.encode(), mtime=0), "application/gzip")


def serve_slowly(text: str, *, seconds: float) -> Handler:
    """Serve the whole body slowly."""
    data = text.encode()
    size = -(-len(data) // SLOW_CHUNKS)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": XML_TYPE})
        await response.prepare(request)
        with suppress(ConnectionResetError):  # the client has disconnected
            for start in range(0, len(data), size):
                await response.write(data[start : start + size])
                await asyncio.sleep(seconds / SLOW_CHUNKS)
        return response

    return answer


def redirect_paths(base_url: str) -> Handler:
    """Redirect every path to the same path below `base_url`."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": base_url + request.path_qs})

    return answer


def fail_first(answer: Handler) -> Handler:
    """Answer the first request of each town with 503, and later ones normally."""
    answered: set[object] = set()

    async def troubled(request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        town = transport.get_extra_info("sockname") if transport else None
        if town in answered:
            return await answer(request)
        answered.add(town)
        return web.Response(status=503, text="Back in a moment.")

    return troubled


def redirect_all(url: str) -> Handler:
    """Redirect every path to the same URL."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": url})

    return answer


async def close_connection(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without a response."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


not_found: Handler = serve_html("<!doctype html><title>404</title><h1>Not found</h1>", status=404)
