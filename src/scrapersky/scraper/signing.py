"""Sign what is posted, so that its receiver can tell that it came from here."""

from __future__ import annotations

import hashlib
import hmac


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over `<timestamp>.<body>`; with the time in it, an old post cannot be repeated
    by somebody else later."""
    signed = f"{timestamp}.".encode() + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def signing_headers(secret: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The time, and the signature where there is a secret."""
    headers = {"X-ScraperSky-Timestamp": str(timestamp)}
    if secret:
        headers["X-ScraperSky-Signature"] = f"sha256={signature(secret, timestamp, body)}"
    return headers
