"""What a request shows to say who asks: a key or a token in its headers, a session in a cookie."""

from __future__ import annotations

from fastapi import Request

SESSION_COOKIE = "scrapersky_session"
SECURE_SESSION_COOKIE = f"__Host-{SESSION_COOKIE}"
"""Browsers take a cookie of this name only over https, from this very host and for all of it."""


def key_or_token_in(request: Request) -> str | None:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    return request.headers.get("x-api-key", "").strip() or None


def session_in(request: Request) -> str | None:
    """The session's token. Over https the plain cookie does not count: whoever can answer for this
    host over plain http, or owns a neighbouring sub-domain, can plant one of their own."""
    if secure := request.cookies.get(SECURE_SESSION_COOKIE):
        return secure
    if has_secure_cookies(request):
        return None
    return request.cookies.get(SESSION_COOKIE) or None


def has_secure_cookies(request: Request) -> bool:
    """Whether this request's session cookie is, or would be, for https only; see `proxies`."""
    secure: bool = getattr(request.state, "secure_cookies", request.url.scheme == "https")
    return secure
