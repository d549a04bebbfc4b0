"""Home pages as responses."""

from __future__ import annotations

from collections.abc import Mapping

from scrapersky.scraper import Redirect, Response

HOME = "https://bakery.example/"
WORDS = "We bake bread and rolls every morning with flour from the mill next door. " * 8


def answer(
    html: str | bytes,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    final_url: str = HOME,
) -> Response:
    """What bakery.example answered, or the place that it leads to."""
    redirects = (Redirect(301, HOME, final_url),) if final_url != HOME else ()
    return Response(
        url=HOME,
        final_url=final_url,
        status=status,
        headers={"Content-Type": "text/html", **(headers or {})},
        body=html.encode() if isinstance(html, str) else html,
        redirects=redirects,
    )


def page(body: str = "", head: str = "") -> str:
    """A page with enough words to be one."""
    return f"<!doctype html><html><head>{head}</head><body>{body}<p>{WORDS}</p></body></html>"
