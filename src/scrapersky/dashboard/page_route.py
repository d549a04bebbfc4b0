"""Route class of pages: render errors as pages and redirect anonymous visitors to sign-in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException

from scrapersky.dashboard.rendering import PageRenderer, get_ignored_values
from scrapersky.db.outages import is_read_only
from scrapersky.errors import DatabaseReadOnly, InvalidInput, NotSignedIn, ScraperSkyError
from scrapersky.http.problems import READ_ONLY_RETRY_SECONDS, STATUS_CODES, handle_http_exception
from scrapersky.http.sessions import is_user_activity

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
QueryValues = list[tuple[str, str]]
"""Names and values of a query string."""
MAX_INVALID_VALUES = 20


class PageRoute(APIRoute):
    """Route class of pages."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def answer_people(request: Request) -> Response:
            try:
                return await _answer_ignoring_invalid(request, answer)
            except NotSignedIn:
                if not is_user_activity(request):
                    raise
                return _redirect_to_sign_in_page(request)
            except (ScraperSkyError, RequestValidationError, HTTPException) as error:
                status, sentence = _describe_error(error)
                if status >= 500:
                    raise
                return render_error_page(request, status, sentence)
            except DBAPIError as error:
                if not is_read_only(error):
                    raise
                page = render_error_page(request, 503, str(DatabaseReadOnly()))
                page.headers["Retry-After"] = str(READ_ONLY_RETRY_SECONDS)
                return page

        return answer_people


async def _answer_ignoring_invalid(request: Request, answer: Handler) -> Response:
    """Render the page without the invalid values of its query.

    Invalid values are removed one round at a time, and the page names them: an old bookmark or a
    typo should not discard the other filters and the rows. The status stays 422.
    """
    for _ in range(MAX_INVALID_VALUES):
        try:
            response = await answer(request)
        except (RequestValidationError, InvalidInput) as error:
            invalid = _find_invalid(request, error)
            if not invalid:
                raise
            request = _remove_values(request, invalid, _describe_error(error)[1])
            continue
        if get_ignored_values(request) and response.status_code == HTTPStatus.OK:
            response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response
    return await answer(request)


def _find_invalid(request: Request, error: RequestValidationError | InvalidInput) -> QueryValues:
    """Return the query values that caused the error; empty if the query is not the cause."""
    pairs = request.query_params.multi_items()
    if request.method != "GET":
        return []
    if isinstance(error, InvalidInput):  # only the cursor is parsed this late
        return [each for each in pairs if each[0] == "cursor"]
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    if where[0] != "query":
        return []
    if first["type"] == "unknown":
        unknown = first["ctx"]["unknown"]
        return [each for each in pairs if each[0][: len(unknown)] == unknown]
    named = [each for each in pairs if each[0] == where[1]]
    return [each for each in named if each[1] == first["input"]] or named


def _remove_values(request: Request, invalid: QueryValues, sentence: str) -> Request:
    kept = [each for each in request.query_params.multi_items() if each not in invalid]
    reduced = Request({**request.scope, "query_string": urlencode(kept).encode()}, request.receive)
    reduced.state.ignored = [*get_ignored_values(request), sentence]
    return reduced


def _redirect_to_sign_in_page(request: Request) -> Response:
    path = request.url.path
    target = f"{path}?{request.url.query}" if request.url.query else path
    return RedirectResponse(f"/sign-in?next={quote(target, safe='')}", 303)


def _describe_error(error: Exception) -> tuple[int, str]:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return 422, f"{where}: {first['msg']}." if where else f"{first['msg']}."
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    status = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 500)
    return status, str(error)


async def handle_not_found(request: Request, error: Exception) -> Response:
    """Answer unknown paths: an HTML page for browsers, a problem document for API clients."""
    assert isinstance(error, HTTPException)
    for_people = "text/html" in request.headers.get("accept", "")
    if error.status_code != 404 or not for_people or request.url.path.startswith("/api/"):
        return await handle_http_exception(request, error)
    return render_error_page(request, 404, f"There is no page at {request.url.path}.")


ERROR_TITLES: dict[int, str] = {HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid filter"}


def render_error_page(request: Request, status: int, sentence: str) -> Response:
    actor = getattr(request.state, "identity", None)
    show = PageRenderer(request, request.app.state.context, actor)
    title = ERROR_TITLES.get(status) or HTTPStatus(status).phrase.capitalize()
    return show.page("error.html", title=title, status=status, sentence=sentence, code=status)
