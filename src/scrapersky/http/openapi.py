"""Serve the OpenAPI document and add the parameters and responses common to all routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, FastAPI, Request

from scrapersky.http.auth import Viewer
from scrapersky.http.idempotency import KEY_HEADER, MAX_KEY_CHARACTERS
from scrapersky.http.problems import problem_responses

API_PREFIX = "/api/"
PATHS_WITHOUT_IDEMPOTENCY = ("/api/v3/session",)
"""Sign-in: the caller is not authenticated yet, so the key has no tenant, and each call is a new
one.
"""
COMMON_STATUSES = (408, 413, 429)
IDEMPOTENCY_STATUSES = (409,)
STATUS_DESCRIPTIONS = {
    408: "Request Timeout: the headers or the body arrived too slowly.",
    413: "Content Too Large: more than 64 kB unauthenticated, 1 MB of JSON, or MAX_REQUEST_BYTES "
    "for an import.",
    429: "Too Many Requests: retry after the time in `Retry-After`.",
}
KEY_PARAMETER: dict[str, Any] = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "Unique key of this request within the tenant. A repeated request with the same "
    "key is not executed again and gets the response of the first.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_KEY_CHARACTERS,
        "pattern": "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$",
    },
    "example": "0198a3c4-7d1e-7a60-9f0b-5b0c6f1d2e3a",
}


def extend_openapi(app: FastAPI) -> None:
    without: Callable[[], dict[str, Any]] = app.openapi
    described: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not described:
            described.update(without())
            for path, operations in described["paths"].items():
                if path.startswith(API_PREFIX):
                    _extend_operations(operations, keyed=path not in PATHS_WITHOUT_IDEMPOTENCY)
        return described

    app.openapi = openapi  # type: ignore[method-assign]


def _extend_operations(operations: dict[str, Any], *, keyed: bool) -> None:
    for method, operation in operations.items():
        _add_responses(operation, *COMMON_STATUSES)
        if method == "post" and keyed:
            _add_responses(operation, *IDEMPOTENCY_STATUSES)
            operation.setdefault("parameters", []).append(KEY_PARAMETER)


def _add_responses(operation: dict[str, Any], *statuses: int) -> None:
    for status, answer in problem_responses(*statuses).items():
        response = {key: value for key, value in answer.items() if key != "model"}
        response["description"] = STATUS_DESCRIPTIONS.get(int(status), response["description"])
        operation["responses"].setdefault(str(status), response)


router = APIRouter(tags=["description"], responses=problem_responses(401, 403))


@router.get("/openapi.json", summary="Get the OpenAPI document")
async def openapi(actor: Viewer, request: Request) -> dict[str, Any]:
    described: dict[str, Any] = request.app.openapi()
    return described
