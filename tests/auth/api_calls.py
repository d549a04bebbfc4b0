"""Build a call for every route in the OpenAPI document, so that new routes are covered
automatically.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

PATIENCE_SECONDS = 120
CSV = "text/csv"
PLACE = re.compile(r"{(\w+)(?::\w+)?}")


@dataclass(frozen=True)
class Call:
    method: str
    route: str
    """The path with its places still open."""
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    streams: bool = False
    """Whether its answer goes on for as long as there is something to tell."""

    @property
    def changes(self) -> bool:
        return self.method not in ("GET", "HEAD", "OPTIONS")

    @property
    def is_about_one(self) -> bool:
        """Whether the path names a row by its id."""
        return any(name.endswith("_id") for name in PLACE.findall(self.route))

    async def sent(self, client: httpx.AsyncClient) -> httpx.Response:
        """The whole answer; a stream that begins is never whole, and fails."""
        body = _file(self.body) if isinstance(self.body, str) else {"json": self.body}
        body = {} if self.body is None else body
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await client.request(self.method, self.path, params=self.params, **body)


def _file(text: str) -> dict[str, Any]:
    return {"content": text, "headers": {"Content-Type": CSV}}


def calls(app: FastAPI, known: Mapping[str, str]) -> Iterator[Call]:
    """Each operation, with what is known put in its places; once for each word of an enum."""
    described = app.openapi()
    for route, operations in described["paths"].items():
        for method, operation in operations.items():
            for params in _queries(operation, known, described):
                for body in _bodies(operation, known, described):
                    path = filled(route, known)
                    yield Call(method.upper(), route, path, params, body, _streams(operation))


def _streams(operation: Mapping[str, Any]) -> bool:
    answers = operation["responses"].values()
    return any("text/event-stream" in each.get("content", {}) for each in answers)


def filled(route: str, known: Mapping[str, str]) -> str:
    for name in PLACE.findall(route):
        assert name in known, f"{route}: say in tests/auth/tenant_rows.py what {name} may be"
    return PLACE.sub(lambda match: known[match[1]], route)


def _queries(
    operation: Mapping[str, Any], known: Mapping[str, str], described: Any
) -> Iterator[dict[str, Any]]:
    asked = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    fixed = {
        each["name"]: known.get(each["name"]) or _example(each["schema"], {}, described)
        for each in asked
        if each.get("required")
    }
    yield fixed
    for each in asked:
        words = [known[each["name"]]] if each["name"] in known else _words(each, described)
        yield from ({**fixed, each["name"]: word} for word in words)


def _words(parameter: Mapping[str, Any], described: Any) -> list[Any]:
    schema = _resolved(parameter["schema"], described)
    return list(schema.get("enum", ()))


def _bodies(
    operation: Mapping[str, Any], known: Mapping[str, str], described: Any
) -> Iterator[Any]:
    """One; or two for an act on many rows, once on those named and once on all there are."""
    content = operation.get("requestBody", {}).get("content", {})
    if CSV in content:
        yield content[CSV]["example"]
        return
    if "application/json" not in content:
        assert not content, f"{operation['operationId']}: a body the walk cannot make"
        yield None
        return
    schema = _resolved(content["application/json"]["schema"], described)
    properties = schema.get("properties", {})
    must = {
        name: _example(properties[name], known, described) for name in schema.get("required", ())
    }
    if "ids" in properties:
        yield {**must, "ids": [each for name, each in known.items() if name.endswith("_id")]}
    if "all" in properties:
        yield {**must, "all": True}
    if "ids" not in properties:
        yield _example(content["application/json"]["schema"], known, described)


def _resolved(schema: Mapping[str, Any], described: Any) -> Mapping[str, Any]:
    """Where a reference leads, and of several possibilities the first that is something."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _resolved(described["components"]["schemas"][name], described)
    for each in schema.get("anyOf", ()):
        if each.get("type") != "null":
            return _resolved(each, described)
    return schema


def _example(schema: Mapping[str, Any], known: Mapping[str, str], described: Any) -> Any:
    if examples := schema.get("examples"):
        return examples[0]
    schema = _resolved(schema, described)
    if examples := schema.get("examples"):
        return examples[0]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, known, described)
    if kind == "array":
        return [_example(schema["items"], known, described)]
    return {"string": "example", "integer": 1, "number": 1, "boolean": True}[str(kind)]


def _object(schema: Mapping[str, Any], known: Mapping[str, str], described: Any) -> dict[str, Any]:
    """What must be there, and whatever may name a row."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {
        name: known[name] if name.endswith("_id") else _example(each, known, described)
        for name, each in properties.items()
        if name in schema.get("required", ()) or (name.endswith("_id") and name in known)
    }
