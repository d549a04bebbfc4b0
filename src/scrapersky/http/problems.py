"""Errors as problem documents (RFC 9457), and the exception handlers that build them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from scrapersky.db.outages import DriverError, get_sqlstate, is_read_only, is_unavailable
from scrapersky.errors import (
    Conflict,
    DatabaseReadOnly,
    DatabaseRefused,
    DatabaseUnavailable,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ResourceExhausted,
    ScraperSkyError,
)
from scrapersky.logging import get_logger
from scrapersky.pipeline.vitals import WAIT_SECONDS, find_exhausted_resource

PROBLEM_JSON = "application/problem+json"
CHARACTER_NOT_IN_REPERTOIRE = "22021"
"""PostgreSQL's SQLSTATE for text with a NUL character."""
READ_ONLY_RETRY_SECONDS = 30
"""A failover takes a while; retrying more often does not help."""
STATUS_CODES = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    NotSignedIn: 401,
    NotAllowed: 403,
    DatabaseRefused: 503,
    DatabaseUnavailable: 503,
    ResourceExhausted: 503,
}

log = get_logger(__name__)


class Problem(BaseModel):
    """Problem document (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Unprocessable Content"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["The domain is empty. Enter a domain such as example.com."])
    instance: str = Field(examples=["/api/v3/sitemap/scan"])
    request_id: str = Field(examples=["01890f6e7c2b7d5a8c3e4f5a6b7c8d9e"])
    errors: list[dict[str, str]] | None = Field(
        default=None, description="Invalid fields: location and reason of each."
    )


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Build the OpenAPI responses of a route for these error statuses."""
    return {
        status: {
            "model": Problem,
            "description": HTTPStatus(status).phrase,
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def build_problem(
    request: Request, status: int, detail: str, errors: list[dict[str, str]] | None = None
) -> JSONResponse:
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.url.path,
        request_id=getattr(request.state, "request_id", ""),
        errors=errors,
    )
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(
        body.model_dump(exclude_none=True), status, media_type=PROBLEM_JSON, headers=headers
    )


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(ScraperSkyError, _handle_known_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, handle_http_exception)
    app.add_exception_handler(UnicodeEncodeError, _handle_encoding_error)
    # DriverError is raised when a connection could not be made.
    for kind in (DBAPIError, DriverError, PoolTimeout, OSError):
        app.add_exception_handler(kind, _handle_database_error)
    app.add_exception_handler(Exception, _handle_unexpected_error)


async def _handle_known_error(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, ResourceExhausted | DatabaseUnavailable) and (
        limit := find_exhausted_resource(error)
    ):
        return _own_limit(request, limit)
    status = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 500)
    if status == 500:
        return await _handle_unexpected_error(request, error)
    answer = build_problem(request, status, str(error))
    if isinstance(error, DatabaseReadOnly):
        answer.headers["Retry-After"] = str(READ_ONLY_RETRY_SECONDS)
    return answer


async def _handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    raw_errors = error.errors()
    if raw_errors and raw_errors[0]["type"] == "json_invalid":
        return build_problem(request, 400, "The request body is not valid JSON.")
    errors = [
        {"where": _format_location(each["loc"]), "what": str(each["msg"])} for each in raw_errors
    ]
    detail = "; ".join(f"{each['where']}: {each['what']}" for each in errors[:5])
    return build_problem(request, 422, f"The request is not valid. {detail}.", errors)


def _format_location(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location[1:]) or str(location[0])


async def handle_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    sentence = {
        404: f"Not found: {request.url.path}.",
        405: f"{request.method} is not allowed here.",
    }.get(error.status_code, str(error.detail))
    answer = build_problem(request, error.status_code, sentence)
    answer.headers.update(error.headers or {})
    return answer


async def _handle_database_error(request: Request, error: Exception) -> JSONResponse:
    """Return 503 while the database is unavailable or read-only or a resource of ours is exhausted,
    422 for text it cannot store.
    """
    if limit := find_exhausted_resource(error):
        return _own_limit(request, limit)
    if is_read_only(error):
        log.warning("database read-only", path=request.url.path)
        return await _handle_known_error(request, DatabaseReadOnly())
    if isinstance(error, DBAPIError) and not error.connection_invalidated:
        if get_sqlstate(error) == CHARACTER_NOT_IN_REPERTOIRE or isinstance(error, DataError):
            return build_problem(
                request, 422, "The request contains a character that cannot be stored."
            )
        if not is_unavailable(error):
            return await _handle_unexpected_error(request, error)
    log.warning("database unavailable", path=request.url.path, error=type(error).__name__)
    answer = build_problem(request, 503, "The database is not responding. Retry in 2 s.")
    answer.headers["Retry-After"] = "2"
    return answer


def _own_limit(request: Request, limit: ResourceExhausted) -> JSONResponse:
    """Name the limit: neither the caller nor the database is to blame, and an operator can help."""
    log.error(
        "resource exhausted", limit=limit.limit.value, problem=str(limit), path=request.url.path
    )
    answer = build_problem(request, 503, str(limit))
    answer.headers["Retry-After"] = str(round(WAIT_SECONDS))
    return answer


async def _handle_encoding_error(request: Request, error: Exception) -> JSONResponse:
    """Reject lone surrogates: JSON can express them, but no text column can store them."""
    return build_problem(request, 422, "The request contains a character that cannot be stored.")


async def _handle_unexpected_error(request: Request, error: Exception) -> JSONResponse:
    request_id = getattr(request.state, "request_id", "")
    log.error("request failed", path=request.url.path, request_id=request_id, exc_info=error)
    return build_problem(
        request, 500, f"Internal error. It was logged with request ID {request_id}."
    )
