"""What a site of the town may answer to a request."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from aiohttp import web

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

XML = "application/xml"
DRIPS = 20
"""Pieces that a slow body is sent in."""


def body(
    data: bytes,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        sent = {"Content-Type": content_type, **(headers or {})}
        return web.Response(body=data, status=status, headers=sent)

    return answer


def page(html: str, *, status: int = 200) -> Answer:
    return body(html.encode(), "text/html; charset=utf-8", status=status)


def plain(text: str) -> Answer:
    return body(text.encode(), "text/plain; charset=utf-8")


def xml(text: str) -> Answer:
    return body(text.encode(), XML)


def gz(text: str) -> Answer:
    """A compressed file, always of the same bytes."""
    return body(gzip.compress(text.encode(), mtime=0), "application/gzip")


def drip(text: str, *, seconds: float) -> Answer:
    """The whole of it, but slowly."""
    data = text.encode()
    size = -(-len(data) // DRIPS)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": XML})
        await response.prepare(request)
        with suppress(ConnectionResetError):  # whoever asked has left
            for start in range(0, len(data), size):
                await response.write(data[start : start + size])
                await asyncio.sleep(seconds / DRIPS)
        return response

    return answer


def redirect_to(base_url: str) -> Answer:
    """Every path leads to the same path over there."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": base_url + request.path_qs})

    return answer


def trouble_first(answer: Answer) -> Answer:
    """The first time it is asked in a town the server is in trouble; afterwards it answers."""
    asked: set[object] = set()

    async def troubled(request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        town = transport.get_extra_info("sockname") if transport else None
        if town in asked:
            return await answer(request)
        asked.add(town)
        return web.Response(status=503, text="Back in a moment.")

    return troubled


def elsewhere(url: str) -> Answer:
    """Every path leads to the same page over there."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": url})

    return answer


async def hang_up(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection without a word."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


not_found: Answer = page("<!doctype html><title>404</title><h1>Not found</h1>", status=404)
