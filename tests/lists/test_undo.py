"""Undo of a bulk decision: exact, once, and never over a newer change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import delete, select

from scrapersky.db.session import Database
from scrapersky.lists.undo import FAILED_BEFORE
from scrapersky.models import AuditEntry, BulkAction, Contact
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.conftest import make_settings
from tests.lists.rows import (
    API,
    KINDS,
    WITH_QUEUE,
    add_rows,
    curate,
    decisions,
    queue_of,
    set_queue,
)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def undo(client: httpx.AsyncClient, **body: Any) -> tuple[int, int, int]:
    answer = await client.post(f"{API}/bulk-actions/undo", json=body)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    return said["restored_count"], said["unqueued_count"], said["left_alone_count"]


@pytest.mark.parametrize("kind", KINDS)
async def test_rows_of_any_kind_get_their_former_status_back(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    ids = await add_rows(database, kind, 3)
    words = KINDS[kind].decisions
    await curate(client, kind, words[-1], ids=ids[:1])
    await curate(client, kind, words[-2], all=True)

    assert (await undo(client))[::2] == (3, 0)

    assert await decisions(database, kind, ids) == [words[-1], "New", "New"]
    async with database.reading() as session:
        noted = (await session.scalars(select(AuditEntry.action))).all()
    assert noted.count(f"{kind}.undo") == 1


@pytest.mark.parametrize("kind", WITH_QUEUE)
async def test_rows_that_were_not_begun_leave_the_queue_again(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    done, failed, queued, begun, retried = ids = await add_rows(database, kind, 5)
    words = WITH_QUEUE[kind].queues.words  # type: ignore[union-attr]
    await set_queue(database, kind, done, status=words.done)
    await set_queue(database, kind, failed, status=words.failed, error="No.")
    await set_queue(database, kind, queued, status=words.queued)
    await curate(client, kind, "Selected", all=True)
    await set_queue(database, kind, begun, status=words.processing, attempts=1)
    await set_queue(database, kind, retried, attempts=1, error="Once more.")

    assert await undo(client) == (5, 2, 0)

    assert await decisions(database, kind, ids) == ["New"] * 5
    states = [await queue_of(database, kind, each) for each in ids]
    assert [(each.status, each.error) for each in states] == [
        (words.done, None),
        (words.failed, FAILED_BEFORE),
        (words.queued, None),
        (words.processing, None),
        (words.queued, "Once more."),
    ]


async def test_what_somebody_changed_meanwhile_is_left_alone(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "contact", 4)
    first = await curate(client, "contact", "Selected", all=True)
    await curate(client, "contact", "Skipped", ids=ids[:2])
    async with database.transaction() as session:
        await session.execute(delete(Contact).where(Contact.id == ids[3]))

    assert await undo(client, action_id=first["action_id"]) == (1, 0, 3)
    assert await decisions(database, "contact", ids[:3]) == ["Skipped", "Skipped", "New"]
    assert await undo(client) == (2, 0, 0)
    assert await decisions(database, "contact", ids[:3]) == ["Selected", "Selected", "New"]


async def test_rows_that_were_decided_again_the_same_way_are_left_alone(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "lead", 2)
    first = await curate(client, "lead", "Selected", all=True)
    await curate(client, "lead", "Maybe", ids=ids[:1])
    await curate(client, "lead", "Selected", ids=ids[:1])

    assert await undo(client, action_id=first["action_id"]) == (1, 0, 1)
    assert await decisions(database, "lead", ids) == ["Selected", "New"]


async def test_an_action_is_undone_once(client: httpx.AsyncClient, database: Database) -> None:
    await add_rows(database, "lead", 1)
    said = await curate(client, "lead", "Maybe", all=True)
    await undo(client)

    again = await client.post(f"{API}/bulk-actions/undo", json={"action_id": said["action_id"]})
    last = await client.post(f"{API}/bulk-actions/undo")
    unknown = await client.post(f"{API}/bulk-actions/undo", json={"action_id": str(uuid4())})

    assert [each.status_code for each in (again, last, unknown)] == [409, 404, 404]


async def test_undoing_again_and_again_goes_back_in_time(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "domain", 1)
    for word in ("Maybe", "Selected", "Archived"):
        await curate(client, "domain", word, ids=ids)
    seen = []
    for _ in range(3):
        await undo(client)
        seen += await decisions(database, "domain", ids)

    assert seen == ["Selected", "Maybe", "New"]


async def test_the_last_action_is_ones_own_and_others_of_the_tenant_are_undone_by_name(
    url: str, database: Database
) -> None:
    ids = await add_rows(database, "page", 2)
    _, mine = await add_key(database)
    _, colleagues = await add_key(database, await add_user(database, "colleague"))
    async with asking(signed_in_settings(url), mine) as client:
        await curate(client, "page", "Skipped", ids=ids[:1])
        client.headers["Authorization"] = f"Bearer {colleagues}"
        second = await curate(client, "page", "Skipped", ids=ids[1:])
        client.headers["Authorization"] = f"Bearer {mine}"
        await undo(client)
        assert await decisions(database, "page", ids) == ["New", "Skipped"]
        await undo(client, action_id=second["action_id"])

    assert await decisions(database, "page", ids) == ["New", "New"]


async def test_actions_of_another_tenant_are_neither_seen_nor_undone(
    url: str, database: Database
) -> None:
    ids = await add_rows(database, "page", 1)
    _, mine = await add_key(database)
    _, foreign = await add_key(database, await add_tenant(database, "others"))
    async with asking(signed_in_settings(url), mine) as client:
        said = await curate(client, "page", "Skipped", all=True)
        client.headers["Authorization"] = f"Bearer {foreign}"
        refused = await client.post(
            f"{API}/bulk-actions/undo", json={"action_id": said["action_id"]}
        )
        last = await client.post(f"{API}/bulk-actions/undo", json={})
        seen = (await client.get(f"{API}/bulk-actions", params={"totals": True})).json()

    assert (refused.status_code, last.status_code) == (404, 404)
    assert (seen["items"], seen["total"]) == ([], 0)
    assert await decisions(database, "page", ids) == ["Skipped"]


async def test_actions_are_listed_with_what_they_did(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_rows(database, "page", 2)
    await add_rows(database, "lead", 1)
    await curate(client, "page", "Selected", filter={"page_curation_status": "New"}, note="all")
    await curate(client, "lead", "Maybe", filter={"lead_curation_status": ["New"]})
    await undo(client)

    async def listed(**given: Any) -> list[tuple[Any, ...]]:
        items = (await client.get(f"{API}/bulk-actions", params=given)).json()["items"]
        names = ("kind", "to_status", "updated_count", "queued_count")
        return [tuple(each[name] for name in names) for each in items]

    pages, leads = ("page", "Selected", 2, 2), ("lead", "Maybe", 1, 0)
    assert await listed() == [leads, pages]
    assert await listed(sort="created_at") == [pages, leads]
    assert await listed(kind="page") == [pages]
    assert await listed(to_status="Maybe") == [leads]
    assert await listed(has_undone_at=False) == [pages]
    assert await listed(created_until="1h") == []
    items = (await client.get(f"{API}/bulk-actions")).json()["items"]
    assert items[1]["details"] == {"filter": {"page_curation_status": ["New"]}, "note": "all"}
    assert items[0]["undone_at"] is not None


async def test_an_action_on_rows_that_nobody_knows_any_more_is_refused(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_rows(database, "lead", 1)
    said = await curate(client, "lead", "Maybe", all=True)
    async with database.transaction() as session:
        action = await session.get_one(BulkAction, UUID(said["action_id"]))
        action.kind = "balloon"

    answer = await client.post(f"{API}/bulk-actions/undo", json={})

    assert answer.status_code == 409
    assert "balloon" in answer.json()["detail"]
