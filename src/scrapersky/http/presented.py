"""What a request shows to say who asks: a key or a token in its headers, a session in a cookie."""

from __future__ import annotations

from fastapi import Request

SESSION_COOKIE = "scrapersky_session"


def key_or_token_in(request: Request) -> str | None:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    return request.headers.get("x-api-key", "").strip() or None


def session_in(request: Request) -> str | None:
    return request.cookies.get(SESSION_COOKIE) or None
