"""Routes that take lists: their bodies may be large, and are parsed beside the event loop."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

IN_THREAD_FROM_BYTES = 64 * 1024
_decoder = json.JSONDecoder()
_space = re.compile(r"[ \t\n\r]*")


class ListRoute(APIRoute):
    """`APIRouter(route_class=ListRoute)`: bodies of up to MAX_REQUEST_BYTES are read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_list(request: Request) -> Response:
            return await handle(ListRequest(request.scope, request.receive))

        return handle_list


class ListRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) < IN_THREAD_FROM_BYTES:
                self._json = json.loads(body)
            else:
                self._json = await asyncio.to_thread(parse_json, body)
        return self._json


def parse_json(body: bytes) -> Any:
    """The same as `json.loads`, but other threads run meanwhile.

    `json.loads` keeps the interpreter to itself from the first byte to the last, so in a thread it
    would stop the event loop as well. An object's lists are decoded here element by element, and
    Python can switch to another thread after each."""
    text = body.decode(json.detect_encoding(body), "surrogatepass")
    try:
        start = _skip_space(text, 0)
        if text[start] != "{":
            return json.loads(text)
        parsed, end = _parse_object(text, start + 1)
        if _skip_space(text, end) == len(text):
            return parsed
    except (ValueError, IndexError):
        pass
    # It is not JSON after all; this says where and why, in the usual words.
    return json.loads(text)


def _skip_space(text: str, position: int) -> int:
    found = _space.match(text, position)
    return position if found is None else found.end()


def _parse_object(text: str, position: int) -> tuple[dict[str, Any], int]:
    parsed: dict[str, Any] = {}
    position = _skip_space(text, position)
    if text[position] == "}":
        return parsed, position + 1
    while True:
        name, position = _decoder.raw_decode(text, _skip_space(text, position))
        position = _skip_space(text, position)
        if not isinstance(name, str) or text[position] != ":":
            raise ValueError("an object's name and a colon")
        position = _skip_space(text, position + 1)
        is_list = text[position] == "["
        if is_list:
            parsed[name], position = _parse_list(text, position + 1)
        else:
            parsed[name], position = _decoder.raw_decode(text, position)
        position = _skip_space(text, position)
        if text[position] == "}":
            return parsed, position + 1
        if text[position] != ",":
            raise ValueError("a comma")
        position += 1


def _parse_list(text: str, position: int) -> tuple[list[Any], int]:
    parsed: list[Any] = []
    position = _skip_space(text, position)
    if text[position] == "]":
        return parsed, position + 1
    while True:
        element, position = _decoder.raw_decode(text, _skip_space(text, position))
        parsed.append(element)
        position = _skip_space(text, position)
        if text[position] == "]":
            return parsed, position + 1
        if text[position] != ",":
            raise ValueError("a comma")
        position += 1
