"""Bulk curation of every kind of row: exact selection, counts, and queueing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.lists import BulkRequest
from scrapersky.lists import curation as act
from scrapersky.models import AuditEntry, BulkAction, BulkActionRows, Domain, Role
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.pipeline.wake import Wakeups
from scrapersky.stages import STAGES
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.lists.rows import (
    API,
    KINDS,
    SYSTEM,
    WITH_QUEUE,
    add_rows,
    counts,
    curate,
    decisions,
    now_of,
    queue_of,
    set_queue,
)

FAR = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def number_of(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


@pytest.mark.parametrize("kind", KINDS)
async def test_rows_of_any_kind_are_decided_about_by_ids(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    ids = await add_rows(database, kind, 3)
    word = list(KINDS[kind].words)[-1].value

    said = await curate(client, kind, word, ids=ids[:2], note="seen them")

    assert counts(said) == (2, 2, 0, 0)
    assert await decisions(database, kind, ids) == [word, word, "New"]
    async with database.reading() as session:
        action = (await session.scalars(select(BulkAction))).one()
        noted = (await session.scalars(select(AuditEntry.action))).all()
    assert (str(action.id), action.kind, action.to_status) == (said["action_id"], kind, word)
    assert action.details == {"ids": 2, "note": "seen them"}
    assert noted == [f"{kind}.curate"]


@pytest.mark.parametrize("kind", WITH_QUEUE)
async def test_selected_rows_wait_for_their_stage_and_worked_ones_stay_with_it(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    failed, worked, waiting = await add_rows(database, kind, 3)
    words = WITH_QUEUE[kind].queues.words  # type: ignore[union-attr]
    held = {"lease_token": uuid4(), "lease_expires_at": FAR, "worker_id": uuid4()}
    await set_queue(database, kind, failed, status=words.failed, error="No.", attempts=5)
    await set_queue(database, kind, worked, status=words.processing, attempts=2, **held)
    await set_queue(database, kind, waiting, status=words.queued, due_at=FAR, error="Later.")
    before = await queue_of(database, kind, worked)

    said = await curate(client, kind, "Selected", all=True)

    assert counts(said) == (3, 3, 2, 0)
    assert await decisions(database, kind, [failed, worked, waiting]) == ["Selected"] * 3
    assert await queue_of(database, kind, worked) == before
    for each in (failed, waiting):
        state = await queue_of(database, kind, each)
        assert (state.status, state.attempts, state.error) == (words.queued, 0, None)
        assert (state.lease_token, state.worker_id) == (None, None)
        assert state.due_at <= await now_of(database)


@pytest.mark.parametrize("kind", WITH_QUEUE)
async def test_other_decisions_queue_nothing(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    ids = await add_rows(database, kind, 2)
    before = [await queue_of(database, kind, each) for each in ids]
    word = list(KINDS[kind].words)[-1].value

    assert counts(await curate(client, kind, word, all=True)) == (2, 2, 0, 0)
    assert [await queue_of(database, kind, each) for each in ids] == before


async def test_every_curation_queues_for_the_stage_that_works_its_column() -> None:
    works = {(each.model, each.status): each for each in STAGES}
    for curation in WITH_QUEUE.values():
        queues = curation.queues
        assert queues is not None
        stage = works[curation.model, queues.status]
        assert (stage.name, stage.words) == (queues.stage, queues.words)


async def test_the_stage_is_woken_when_the_decision_is_stored(database: Database) -> None:
    ids = tuple(await add_rows(database, "page", 1))
    heard: list[str] = []
    wakeups = Wakeups(database)
    for stage in STAGES:
        wakeups.subscribe(stage.name, partial(heard.append, stage.name))
    async with database.transaction() as session:
        await act.curate(session, SYSTEM, KINDS["page"], "Selected", BulkRequest(ids=ids))
        assert heard == []
    await wakeups.close()

    assert heard == ["process_page_curation_queue"]


async def test_letters_about_rows_that_start_over_are_closed(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "sitemap_file", 2)
    async with database.transaction() as session:
        session.add_all(
            [
                DeadLetter(
                    id=uuid7(),
                    tenant_id=SYSTEM.tenant_id,
                    stage="process_sitemap_imports",
                    row_id=each,
                    attempts=5,
                    error_class="Rejected",
                    error="No.",
                    worker="here 1",
                )
                for each in ids
            ]
        )
    for each in ids:
        await set_queue(database, "sitemap_file", each, status="Error", error="No.")

    await curate(client, "sitemap_file", "Selected", ids=ids[:1], note="try it")

    async with database.reading() as session:
        letters = select(DeadLetter.state, DeadLetter.note).order_by(DeadLetter.row_id)
        found = [tuple(each) for each in await session.execute(letters)]
    assert found == [("replayed", "try it"), ("open", None)]


async def test_rows_that_have_the_status_already_are_not_counted(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "page", 2, page_curation_status="Selected")
    others = await add_rows(database, "page", 1)

    first = await curate(client, "page", "Selected", ids=[*ids, *others])
    again = await curate(client, "page", "Selected", all=True)

    assert counts(first) == (1, 1, 1, 0)
    assert counts(again) == (0, 0, 0, 0)
    assert again["action_id"] is None
    assert await number_of(database, BulkAction) == 1
    assert (await queue_of(database, "page", ids[0])).status == "New"


async def test_a_dry_run_counts_and_changes_nothing(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = await add_rows(database, "contact", 3)

    said = await curate(client, "contact", "Selected", all=True, dry_run=True, limit=2)

    assert counts(said) == (3, 0, 0, 1)
    assert (said["dry_run"], said["action_id"]) == (True, None)
    assert await decisions(database, "contact", ids) == ["New"] * 3
    assert await number_of(database, BulkAction) == 0


async def test_a_filter_chooses_as_the_list_does(
    client: httpx.AsyncClient, database: Database
) -> None:
    words = await add_rows(database, "domain", 2, cms="WordPress", has_contact_form=True)
    joomla = await add_rows(database, "domain", 1, cms="Joomla")
    ids = [*words, *joomla]

    nothing = await curate(client, "domain", "Maybe", filter={"cms": "Drupal"})
    some = await curate(
        client, "domain", "Maybe", filter={"cms": "WordPress", "has_contact_form": True}
    )
    everything = await curate(client, "domain", "Archived", filter={"cms": ["Joomla", "WordPress"]})

    assert counts(nothing) == (0, 0, 0, 0)
    assert counts(some) == (2, 2, 0, 0)
    assert counts(everything) == (3, 3, 0, 0)
    assert await decisions(database, "domain", ids) == ["Archived"] * 3


async def test_what_a_filter_asks_of_the_status_itself_is_asked_before_the_change(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_rows(database, "lead", 3)
    chosen = {"lead_curation_status": "New"}

    first = await curate(client, "lead", "Maybe", filter=chosen, limit=2)
    rest = await curate(client, "lead", "Maybe", filter=chosen, limit=2)

    assert counts(first) == (3, 2, 0, 1)
    assert counts(rest) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"status": "Chosen", "all": True}, "Selected"),
        ({"status": None, "all": True}, "status"),
        ({"all": True}, "status"),
        ({"status": "Maybe"}, "all"),
        ({"status": "Maybe", "filter": {}}, "all"),
        ({"status": "Maybe", "ids": [], "all": True}, "either"),
        ({"status": "Maybe", "filter": {"cmss": "x"}}, "cms"),
        ({"status": "Maybe", "all": True, "limit": 1_000_001}, "1000000"),
        ({"status": "Maybe", "all": True, "note": "\x00"}, "note"),
        ({"status": "Maybe", "all": True, "surprise": 1}, "surprise"),
    ],
)
async def test_what_does_not_fit_is_refused_with_what_would(
    client: httpx.AsyncClient, database: Database, body: dict[str, Any], told: str
) -> None:
    ids = await add_rows(database, "domain", 1)

    answer = await client.post(f"{API}/domains/curate", json=body)

    assert answer.status_code == 422, answer.text
    assert told in answer.json()["detail"]
    assert await decisions(database, "domain", ids) == ["New"]


@pytest.mark.parametrize("kind", KINDS)
async def test_rows_of_another_tenant_stay_as_they_are(
    url: str, database: Database, kind: str
) -> None:
    ids = await add_rows(database, kind, 2)
    stranger = await add_tenant(database, "others")
    theirs = await add_rows(database, kind, 1, actor=stranger)
    _, secret = await add_key(database, stranger)
    async with asking(signed_in_settings(url), secret) as client:
        by_id = await curate(client, kind, "Selected", ids=ids)
        by_all = await curate(client, kind, "Selected", all=True)
        path = f"{API}/{KINDS[kind].rows}/curate"
        named = {"status": "Selected", "filter": {"search": str(uuid4())}}
        by_filter = (await client.post(path, json=named)).json()

    assert counts(by_id) == (0, 0, 0, 0)
    assert counts(by_all)[:2] == (1, 1)
    assert by_filter["updated_count"] == 0
    assert await decisions(database, kind, [*ids, *theirs]) == ["New", "New", "Selected"]


async def test_deciding_is_for_curators_and_looking_for_viewers(
    url: str, database: Database
) -> None:
    ids = await add_rows(database, "page", 1)
    _, secret = await add_key(database, role=Role.VIEWER)
    body = {"status": "Selected", "all": True}
    async with asking(signed_in_settings(url), secret) as client:
        refused = [
            (await client.post(f"{API}/{each.rows}/curate", json=body)).status_code
            for each in KINDS.values()
        ]
        refused.append((await client.post(f"{API}/bulk-actions/undo", json={})).status_code)
        seen = (await client.get(f"{API}/bulk-actions")).status_code

    assert (set(refused), seen) == ({403}, 200)
    assert await decisions(database, "page", ids) == ["New"]


async def test_a_decision_notes_when_the_row_changed(
    client: httpx.AsyncClient, database: Database
) -> None:
    (row_id,) = await add_rows(database, "domain", 1, updated_at=datetime(2020, 1, 1, tzinfo=UTC))

    await curate(client, "domain", "Maybe", ids=[row_id])

    async with database.reading() as session:
        assert (await session.get_one(Domain, row_id)).updated_at.year > 2020


async def test_what_rows_were_before_is_kept_by_state_in_bounded_parts(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(act, "MAX_IDS_PER_PART", 4)
    ids = await add_rows(database, "page", 9)
    for each in ids[:3]:
        await set_queue(database, "page", each, status="Error")

    await curate(client, "page", "Selected", all=True)

    async with database.reading() as session:
        parts = (await session.scalars(select(BulkActionRows))).all()
    kept = {row_id: each.queue_before for each in parts for row_id in each.row_ids}
    assert kept == {each: "Error" if each in ids[:3] else "New" for each in ids}
    assert max(len(each.row_ids) for each in parts) <= 4
    assert {each.before_status for each in parts} == {"New"}
