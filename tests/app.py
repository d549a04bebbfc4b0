"""The application in this process, and a client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from scrapersky.main import create_app
from scrapersky.settings import Settings
from tests.waiting import PATIENCE_SECONDS

ENDED = ("complete", "failed", "cancelled")


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False),
            base_url="http://localhost",
        ) as client,
    ):
        client.app = app  # type: ignore[attr-defined]
        yield client


async def ended(
    client: httpx.AsyncClient, job_id: str, *, seconds: float = PATIENCE_SECONDS
) -> dict[str, Any]:
    """The job once it has ended."""
    async with asyncio.timeout(seconds):
        while True:
            answer = await client.get(f"/api/v3/sitemap/status/{job_id}")
            body: dict[str, Any] = answer.json()
            if body["status"] in ENDED:
                return body
            await asyncio.sleep(0.05)


async def scan(client: httpx.AsyncClient, site: str, **more: Any) -> dict[str, Any]:
    answer = await client.post("/api/v3/sitemap/scan", json={"base_url": site, **more})
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    return body
