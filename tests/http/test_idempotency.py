"""A repeated POST with the same key is executed once and gets the same response."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import func, select, text, update

from scrapersky.auth.service import create_api_key
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.http.context import get_transaction
from scrapersky.http.idempotency import delete_expired_keys
from scrapersky.main import create_app
from scrapersky.models import Actor, ApiKey, Batch, IdempotencyKey, Job, Role, Tenant, User
from scrapersky.settings import Settings
from tests.app import serving
from tests.conftest import make_settings
from tests.processes import HASTY, answering, free_port, running
from tests.waiting import PATIENCE_SECONDS, wait_for_lock_waiters

SIGN_IN = "/session"
"""Each time is a new one, and nobody is known yet whose key it could be."""
SCAN = "/api/v3/sitemap/scan"
BATCH = "/api/v3/sitemap/batch/create"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def keyed(key: str | None = None) -> dict[str, str]:
    return {"Idempotency-Key": key or str(uuid4())}


async def count(database: Database, model: Any) -> int:
    async with database.reading() as session:
        return int(await session.scalar(select(func.count()).select_from(model)) or 0)


async def test_a_repeated_request_is_carried_out_once_and_answered_the_same(
    client: httpx.AsyncClient, database: Database
) -> None:
    headers, body = keyed(), {"domains": ["bakery.example"]}
    first = await client.post(BATCH, json=body, headers=headers)
    again = await client.post(BATCH, json=body, headers=headers)

    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert await count(database, Batch) == 1


async def test_without_the_key_it_is_carried_out_each_time(
    client: httpx.AsyncClient, database: Database
) -> None:
    for _ in range(2):
        await client.post(BATCH, json={"domains": ["bakery.example"]})

    assert await count(database, Batch) == 2
    assert await count(database, IdempotencyKey) == 0


async def test_a_repeated_act_that_would_be_refused_now_is_answered_as_it_was(
    client: httpx.AsyncClient,
) -> None:
    job = (await client.post(SCAN, json={"base_url": "bakery.example"})).json()["job_id"]
    headers = keyed()
    first = await client.post(f"/api/v3/jobs/{job}/cancel", headers=headers)
    again = await client.post(f"/api/v3/jobs/{job}/cancel", headers=headers)
    other = await client.post(f"/api/v3/jobs/{job}/cancel", headers=keyed())

    assert (first.status_code, again.status_code, other.status_code) == (200, 200, 409)
    assert again.json() == first.json()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SCAN, {"base_url": "florist.example"}),
        (SCAN + "?x=1", {"base_url": "bakery.example"}),
        (BATCH, {"base_url": "bakery.example"}),
    ],
)
async def test_a_key_used_for_another_request_is_refused(
    client: httpx.AsyncClient, database: Database, path: str, body: dict[str, Any]
) -> None:
    headers = keyed()
    await client.post(SCAN, json={"base_url": "bakery.example"}, headers=headers)
    other = await client.post(path, json=body, headers=headers)

    assert other.status_code == 422
    assert "a different request" in other.json()["detail"]
    assert await count(database, Job) == 1


@pytest.mark.parametrize(
    "key", [b"", b" ", b"x" * 256, b"tab\there", b"\x01", b"caf\xc3\xa9", "\u20ac".encode()]
)
async def test_a_key_that_cannot_be_is_refused(
    client: httpx.AsyncClient, database: Database, key: bytes
) -> None:
    headers = [(b"Idempotency-Key", key)]
    answer = await client.post(SCAN, json={"base_url": "bakery.example"}, headers=headers)

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert await count(database, Job) == 0


async def test_two_keys_in_one_request_are_refused(client: httpx.AsyncClient) -> None:
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    answer = await client.post(SCAN, json={"base_url": "bakery.example"}, headers=headers)

    assert answer.status_code == 422


async def test_the_longest_key_is_taken(client: httpx.AsyncClient) -> None:
    answer = await client.post(SCAN, json={"base_url": "a.example"}, headers=keyed("x" * 255))

    assert answer.status_code == 202


async def test_a_refusal_is_repeated_and_leaves_nothing_behind(
    client: httpx.AsyncClient, database: Database
) -> None:
    headers, path = keyed(), f"/api/v3/jobs/{uuid4()}/cancel"
    first = await client.post(path, headers=headers)
    again = await client.post(path, headers=headers)

    assert (first.status_code, again.status_code) == (404, 404)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert await count(database, IdempotencyKey) == 1


async def test_an_error_of_ours_is_not_remembered(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def explode(*_: Any, **__: Any) -> None:
        raise RuntimeError("at the last moment")

    headers, body = keyed(), {"base_url": "bakery.example"}
    with monkeypatch.context() as patched:
        patched.setattr("scrapersky.sitemaps.service._link", explode)
        failed = await client.post(SCAN, json=body, headers=headers)
    jobs_then = await count(database, Job)
    again = await client.post(SCAN, json=body, headers=headers)

    assert (failed.status_code, jobs_then, again.status_code) == (500, 0, 202)
    assert "idempotency-replayed" not in again.headers


async def test_while_the_first_is_under_way_the_second_is_told_to_come_back(
    client: httpx.AsyncClient, database: Database
) -> None:
    headers, body = keyed(), {"base_url": "bakery.example"}
    async with database.engine.connect() as blocking:
        await blocking.execute(text("LOCK TABLE domains IN ACCESS EXCLUSIVE MODE"))
        first = asyncio.create_task(client.post(SCAN, json=body, headers=headers))
        await wait_for_lock_waiters(database)
        second = await client.post(SCAN, json=body, headers=headers)
        await blocking.rollback()
    done = await first
    third = await client.post(SCAN, json=body, headers=headers)

    assert (second.status_code, done.status_code) == (409, 202)
    assert int(second.headers["retry-after"]) >= 1
    assert third.json() == done.json()


async def test_many_at_once_do_it_once(client: httpx.AsyncClient, database: Database) -> None:
    headers, body = keyed(), {"domains": ["bakery.example"]}
    answers = await asyncio.gather(
        *(client.post(BATCH, json=body, headers=headers) for _ in range(20))
    )

    assert {each.status_code for each in answers} <= {202, 409}
    assert len({each.content for each in answers if each.status_code == 202}) == 1
    assert await count(database, Batch) == 1


async def test_a_key_outlives_neither_a_killed_process_nor_its_half_done_work(
    url: str, database: Database, tmp_path: Path
) -> None:
    headers, body = keyed(), {"domains": ["bakery.example"]}
    environ = {**HASTY, "DATABASE_URL": url, "SCHEDULER_ENABLED": "false"}
    port = free_port()
    async with (
        running("serve", "--port", str(port), environ=environ, log=tmp_path / "log") as program,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as there,
        database.engine.connect() as blocking,
    ):
        await answering(there, program)
        await blocking.execute(text("LOCK TABLE batch_jobs IN ACCESS EXCLUSIVE MODE"))
        lost = asyncio.create_task(there.post(BATCH, json=body, headers=headers))
        await wait_for_lock_waiters(database)
        program.send(signal.SIGKILL)
        await program.ended()
        await blocking.rollback()
        with pytest.raises(httpx.TransportError):
            await lost
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await until_carried_out(client, body, headers)

    assert "idempotency-replayed" not in answer.headers
    assert (await count(database, Batch), await count(database, Job)) == (1, 1)


async def until_carried_out(
    client: httpx.AsyncClient, body: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    """The server notices the dead process a moment later, and the key is free then."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await client.post(BATCH, json=body, headers=headers)
            if answer.status_code == 202:
                return answer
            assert answer.status_code == 409
            await asyncio.sleep(0.05)


async def test_a_key_is_free_again_after_its_time(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    headers = keyed()
    await client.post(SCAN, json={"base_url": "bakery.example"}, headers=headers)
    async with database.transaction() as session:
        kept = (await session.scalars(select(IdempotencyKey))).one()
        assert (kept.expires_at - kept.created_at).total_seconds() == 24 * 3600
        await session.execute(update(IdempotencyKey).values(expires_at=kept.created_at))
    other = await client.post(SCAN, json={"base_url": "florist.example"}, headers=headers)

    assert other.status_code == 202
    assert await delete_expired_keys(database, settings) == 0
    async with database.transaction() as session:
        await session.execute(update(IdempotencyKey).values(expires_at=kept.created_at))
    assert await delete_expired_keys(database, settings) == 1
    assert await count(database, IdempotencyKey) == 0


async def key_in_tenant(database: Database, name: str) -> str:
    async with database.transaction() as session:
        tenant = Tenant(id=uuid7(), name=name)
        session.add(tenant)
        await session.flush()
        user = User(id=uuid7(), tenant_id=tenant.id, name="somebody", role=Role.ADMIN)
        session.add(user)
        await session.flush()
        actor = Actor(user_id=user.id, tenant_id=tenant.id)
        _, secret = await create_api_key(session, actor, name="program", role=Role.ADMIN)
        return secret


async def test_the_same_key_of_another_tenant_is_another_key(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    headers, answers = keyed(), []
    async with serving(settings) as client:
        for tenant in ("north", "south"):
            secret = await key_in_tenant(database, tenant)
            signed = {**headers, "Authorization": f"Bearer {secret}"}
            sent = {"base_url": f"{tenant}.example"}
            answers.append(await client.post(SCAN, json=sent, headers=signed))

    assert [each.status_code for each in answers] == [202, 202]
    assert answers[0].json()["job_id"] != answers[1].json()["job_id"]


async def test_a_secret_in_an_answer_is_not_kept(
    client: httpx.AsyncClient, database: Database
) -> None:
    headers, body = keyed(), {"name": "nightly export", "role": "viewer"}
    first = await client.post("/api/v3/api-keys", json=body, headers=headers)
    keys = await count(database, ApiKey)
    again = await client.post("/api/v3/api-keys", json=body, headers=headers)

    assert (first.status_code, again.status_code) == (201, 409)
    assert "secret" in again.json()["detail"]
    assert await count(database, ApiKey) == keys
    async with database.reading() as session:
        assert (await session.scalars(select(IdempotencyKey.body))).all() == [None]


def test_every_post_takes_its_transaction_from_the_one_place(settings: Settings) -> None:
    """Only there is the key looked at."""
    app = create_app(settings)
    posts = [route for route in all_routes(app.routes) if "POST" in (route.methods or ())]
    without = [route.path for route in posts if get_transaction not in calls_of(route.dependant)]

    assert len(posts) > 5
    assert without == [SIGN_IN]


async def test_of_a_password_not_even_a_digest_is_kept(
    client: httpx.AsyncClient, database: Database
) -> None:
    made = (await client.post("/api/v3/users", json={"name": "alice"})).json()
    path, headers = f"/api/v3/users/{made['id']}/password", keyed()
    short = await client.post(path, json={"password": "too short"}, headers=headers)
    async with database.reading() as session:
        after_refusal = (await session.scalars(select(IdempotencyKey.key))).all()
    body = {"password": "correct horse battery"}
    first = await client.post(path, json=body, headers=headers)
    again = await client.post(path, json=body, headers=headers)

    assert [each.status_code for each in (short, first, again)] == [422, 200, 409]
    assert after_refusal == []
    async with database.reading() as session:
        kept = (
            await session.execute(select(IdempotencyKey.fingerprint, IdempotencyKey.body))
        ).all()
    assert [tuple(each) for each in kept] == [(b"", None)]


def all_routes(routes: Any) -> Iterator[APIRoute]:
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            yield from all_routes(included.routes)
        elif isinstance(route, APIRoute):
            yield route


def calls_of(dependant: Any) -> list[Any]:
    return [dependant.call, *(call for each in dependant.dependencies for call in calls_of(each))]


def test_the_key_is_described_for_every_post(settings: Settings) -> None:
    described = create_app(settings).openapi()["paths"]
    signing_in = described.pop(f"/api/v3{SIGN_IN}")["post"]
    posts = [operations["post"] for operations in described.values() if "post" in operations]
    named = [[each["name"] for each in post.get("parameters", [])] for post in posts]

    assert len(posts) > 5
    assert all("Idempotency-Key" in names for names in named)
    assert "parameters" not in signing_in
