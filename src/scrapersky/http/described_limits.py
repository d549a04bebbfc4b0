"""What holds for all routes is added to the API's description in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from scrapersky.http.errors import problem_responses
from scrapersky.http.idempotency import HEADER, MAX_KEY_CHARACTERS

API = "/api/"
NOT_REPEATED = ("/api/v3/session",)
"""Signing in: nobody is known yet whose key it could be, and each time is a new one."""
EVERYWHERE = (408, 413, 429)
WITH_A_KEY = (409,)
DESCRIPTIONS = {
    408: "Request Timeout: the headers or the body came too slowly.",
    413: "Content Too Large: more than 64 kB without sign-in, 1 MB of JSON, or a list of more than "
    "MAX_REQUEST_BYTES.",
    429: "Too Many Requests: `Retry-After` says when to go on.",
}
KEY_PARAMETER: dict[str, Any] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A name for this request, unique within the tenant. When the request is "
    "repeated with it, nothing is done twice and the answer is the first one's.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_KEY_CHARACTERS,
        "pattern": "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$",
    },
    "example": "0198a3c4-7d1e-7a60-9f0b-5b0c6f1d2e3a",
}


def describe_limits(app: FastAPI) -> None:
    without: Callable[[], dict[str, Any]] = app.openapi
    described: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not described:
            described.update(without())
            for path, operations in described["paths"].items():
                if path.startswith(API):
                    _add_to(operations, keyed=path not in NOT_REPEATED)
        return described

    app.openapi = openapi  # type: ignore[method-assign]


def _add_to(operations: dict[str, Any], *, keyed: bool) -> None:
    for method, operation in operations.items():
        _may_answer(operation, *EVERYWHERE)
        if method == "post" and keyed:
            _may_answer(operation, *WITH_A_KEY)
            operation.setdefault("parameters", []).append(KEY_PARAMETER)


def _may_answer(operation: dict[str, Any], *statuses: int) -> None:
    for status, answer in problem_responses(*statuses).items():
        shown = {key: value for key, value in answer.items() if key != "model"}
        shown["description"] = DESCRIPTIONS.get(int(status), shown["description"])
        operation["responses"].setdefault(str(status), shown)
