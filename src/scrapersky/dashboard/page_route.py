"""What goes wrong on a page is told on a page; who is not signed in is led there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from scrapersky.dashboard.rendering import Show
from scrapersky.errors import NotSignedIn, ScraperSkyError
from scrapersky.http.errors import STATUS, framework_problem
from scrapersky.http.sessions import is_a_sign_of_life

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose answers are for people."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def answer_people(request: Request) -> Response:
            try:
                return await answer(request)
            except NotSignedIn:
                if not is_a_sign_of_life(request):
                    raise
                return _to_sign_in(request)
            except (ScraperSkyError, RequestValidationError, HTTPException) as error:
                status, sentence = _described(error)
                if status >= 500:
                    raise
                return error_page(request, status, sentence)

        return answer_people


def _to_sign_in(request: Request) -> Response:
    path = request.url.path
    wanted = f"{path}?{request.url.query}" if request.url.query else path
    return RedirectResponse(f"/sign-in?next={quote(wanted, safe='')}", 303)


def _described(error: Exception) -> tuple[int, str]:
    if isinstance(error, RequestValidationError):
        found = error.errors()[0]
        where = ".".join(str(part) for part in found["loc"][1:])
        return 422, f"This address asks for something that cannot be: {where}: {found['msg']}."
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 500)
    return status, str(error)


async def not_there(request: Request, error: Exception) -> Response:
    """For what no route answers: a page for people, a problem document for programs."""
    assert isinstance(error, HTTPException)
    for_people = "text/html" in request.headers.get("accept", "")
    if error.status_code != 404 or not for_people or request.url.path.startswith("/api/"):
        return await framework_problem(request, error)
    return error_page(request, 404, f"There is nothing at {request.url.path}.")


def error_page(request: Request, status: int, sentence: str) -> Response:
    actor = getattr(request.state, "identity", None)
    show = Show(request, request.app.state.context, actor)
    title = HTTPStatus(status).phrase
    return show.page("error.html", title=title, status=status, sentence=sentence, code=status)
