"""Refusals in the shape that Google gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from scrapersky.demo.provider.troubles import Trouble

PLACES = "places.googleapis.com"
_PROJECT = "projects/20260924"
_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
_WORDS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


@dataclass(eq=False)
class Refused(Exception):
    """Raised where a request is looked at, answered where it came in."""

    code: int
    message: str
    details: tuple[Mapping[str, Any], ...] = ()
    retry_after: int | None = None

    def answer(self) -> web.Response:
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "status": _WORDS[self.code],
        }
        if self.details:
            error["details"] = [dict(each) for each in self.details]
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.json_response({"error": error}, status=self.code, headers=headers)


def invalid(message: str, *, field: str = "", why: str = "") -> Refused:
    """400, with what is wrong with which field in the details where it is said."""
    if not why:
        return Refused(400, message)
    violation = {"description": why, **({"field": field} if field else {})}
    return Refused(400, message, ({"@type": _BAD_REQUEST, "fieldViolations": [violation]},))


def info(reason: str, **metadata: str) -> Mapping[str, Any]:
    about = {"service": PLACES, **metadata}
    return {"@type": _INFO, "reason": reason, "domain": "googleapis.com", "metadata": about}


def quota(method: str, *, per: str, limit: int, retry_after: int | None = None) -> Refused:
    """`per` is `minute` or `day`; the two differ in few words and in all that follows."""
    metric = f"{method}Request"
    which = (
        {"quota_unit": "1/d/{project}"}
        if per == "day"
        else {"quota_limit": f"{metric}PerMinutePerProject"}
    )
    return Refused(
        429,
        f"Quota exceeded for quota metric '{metric}' and limit '{metric} per {per}' of service "
        f"'{PLACES}' for consumer 'project_number:20260924'.",
        (info("RATE_LIMIT_EXCEEDED", quota_limit_value=str(limit), consumer=_PROJECT, **which),),
        retry_after,
    )


def key_invalid() -> Refused:
    message = "API key not valid. Please pass a valid API key."
    return Refused(400, message, (info("API_KEY_INVALID"),))


def no_key() -> Refused:
    return Refused(
        403,
        "Method doesn't allow unregistered callers (callers without established identity). Please "
        "use API Key or other form of API consumer identity to call this API.",
    )


def refusal_of(trouble: Trouble, method: str, retry_after: int | None) -> Refused | None:
    """Nothing for troubles that are no refusals."""
    known = {
        Trouble.MINUTE_QUOTA: quota(method, per="minute", limit=600, retry_after=retry_after),
        Trouble.DAY_QUOTA: quota(method, per="day", limit=75_000, retry_after=retry_after),
        Trouble.UNNAMED_QUOTA: Refused(
            429, "Resource has been exhausted (e.g. check quota).", retry_after=retry_after
        ),
        Trouble.KEY_INVALID: key_invalid(),
        Trouble.NO_KEY: no_key(),
        Trouble.SERVICE_DISABLED: Refused(
            403,
            "Places API (New) has not been used in project 20260924 before or it is disabled.",
            (info("SERVICE_DISABLED", consumer=_PROJECT),),
        ),
        Trouble.KEY_BLOCKED: Refused(
            403,
            f"Requests to this API {PLACES} method google.maps.places.v1.Places.{method} are "
            "blocked.",
            (info("API_KEY_SERVICE_BLOCKED"),),
        ),
        Trouble.ADDRESS_BLOCKED: Refused(
            403,
            "Requests from IP address 198.51.100.7 are blocked.",
            (info("API_KEY_IP_ADDRESS_BLOCKED"),),
        ),
        Trouble.REFERRER_BLOCKED: Refused(
            403,
            "Requests from referer <empty> are blocked.",
            (info("API_KEY_HTTP_REFERRER_BLOCKED"),),
        ),
        Trouble.BILLING_OFF: Refused(
            403,
            "This API method requires billing to be enabled.",
            (info("BILLING_DISABLED", consumer=_PROJECT),),
        ),
        Trouble.FORBIDDEN: Refused(403, "The caller does not have permission"),
        Trouble.SERVER_ERROR: Refused(500, "Internal error encountered."),
        Trouble.UNAVAILABLE: Refused(
            503, "The service is currently unavailable.", retry_after=retry_after
        ),
    }
    return known.get(trouble)
