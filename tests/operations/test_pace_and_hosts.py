"""Pace and hosts through the API and the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.pipeline.tables import Host, StageControl
from scrapersky.settings import Settings
from tests.app import serving

SITEMAPS = "process_pending_sitemaps"
PACE = f"/api/v3/stages/{SITEMAPS}/pace"


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(settings.model_copy(update={"scheduler_enabled": False})) as client:
        yield client


async def test_a_pace_is_changed_kept_and_taken_back(
    client: httpx.AsyncClient, database: Database
) -> None:
    slow = await client.patch(PACE, json={"concurrency": 1, "batch_size": 3})
    assert slow.json()["changed"] == {"concurrency": 1, "batch_size": 3}
    assert slow.json()["pace"]["concurrency"] == 1
    back = await client.patch(PACE, json={"concurrency": None})
    assert back.json()["changed"] == {"batch_size": 3}
    assert back.json()["pace"]["concurrency"] == 8
    async with database.reading() as session:
        assert await session.scalar(select(StageControl.pace)) == {"batch_size": 3}


async def test_pausing_keeps_a_changed_pace_and_a_change_keeps_the_pause(
    client: httpx.AsyncClient, database: Database
) -> None:
    await client.patch(PACE, json={"concurrency": 2})
    await client.post(f"/api/v3/stages/{SITEMAPS}/pause")
    async with database.reading() as session:
        since = await session.scalar(select(StageControl.updated_at))
    await client.patch(PACE, json={"batch_size": 3})
    async with database.reading() as session:
        control = await session.get_one(StageControl, SITEMAPS)
    assert (control.paused, control.pace) == (True, {"concurrency": 2, "batch_size": 3})
    assert control.updated_at == since


@pytest.mark.parametrize(
    "body", [{}, {"concurrency": 0}, {"concurrency": "2"}, {"speed": 3}, {"interval_minutes": -1}]
)
async def test_a_pace_that_cannot_be_is_refused(
    client: httpx.AsyncClient, body: dict[str, object]
) -> None:
    assert (await client.patch(PACE, json=body)).status_code == 422


async def test_a_host_left_alone_says_why_and_is_asked_again_when_told(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add(Host(host="calm.example"))
        session.add(
            Host(
                host="sick.example",
                failures=7,
                circuit_open_until=func.now() + timedelta(hours=1),
                circuit_reason="it failed 7 times in a row, last with status 500",
            )
        )
    listed = (await client.get("/api/v3/hosts", params={"left_alone": True})).json()["items"]
    assert [each["host"] for each in listed] == ["sick.example"]
    assert "status 500" in listed[0]["circuit_reason"]
    assert listed[0]["circuit_open_until"] is not None

    asked = await client.post("/api/v3/hosts/sick.example/ask-again")
    assert asked.json()["circuit_open_until"] is None
    assert (await client.get("/api/v3/hosts?left_alone=true")).json()["items"] == []
    assert (await client.post("/api/v3/hosts/nobody.example/ask-again")).status_code == 404


async def test_hosts_are_listed_page_by_page(client: httpx.AsyncClient, database: Database) -> None:
    async with database.transaction() as session:
        session.add_all([Host(host=f"h{n}.example") for n in range(5)])
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await client.get("/api/v3/hosts", params={"cursor": cursor, "limit": 2})).json()
        seen += [each["host"] for each in page["items"]]
        cursor = page["next_cursor"]
    assert seen == [f"h{n}.example" for n in range(5)]
