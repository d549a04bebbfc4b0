"""Batches: each domain gets a job, invalid lines are reported, and progress covers all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import delete, event, func, select, update

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.lists.imports.sites import parse_site
from scrapersky.models import Actor, Batch, BatchJob, Domain, Job, Role, Tenant, User
from scrapersky.sitemaps.service import upsert_domain
from tests.app import scan, serving
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.waiting import PATIENCE_SECONDS, lose_a_deadlock

CREATE = "/api/v3/sitemap/batch/create"
VERBS = ("INSERT", "UPDATE", "SELECT domains", "SELECT jobs", "WITH")


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = make_settings(url, scheduler_enabled=False, batch_max_domains=2_000)
    async with serving(settings) as made:
        yield made


async def create(client: httpx.AsyncClient, domains: list[Any], **more: Any) -> dict[str, Any]:
    answer = await client.post(CREATE, json={"domains": domains, **more})
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    assert answer.headers["location"] == body["status_url"]
    return body


async def status(client: httpx.AsyncClient, made: dict[str, Any], **query: Any) -> dict[str, Any]:
    answer = await client.get(made["status_url"], params=query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_each_domain_gets_a_job_and_is_linked_to_it(
    client: httpx.AsyncClient, database: Database
) -> None:
    made = await create(client, ["Bakery.example", "https://www.florist.example/"], max_pages=7)

    assert made["accepted"] == 2
    assert [each["domain"] for each in made["results"]] == ["bakery.example", "florist.example"]
    assert [each["already_active"] for each in made["results"]] == [False, False]
    async with database.reading() as session:
        jobs = (await session.scalars(select(Job).order_by(Job.subject))).all()
        domains = (await session.scalars(select(Domain).order_by(Domain.domain))).all()
    assert [str(each.id) for each in jobs] == [each["job_id"] for each in made["results"]]
    assert [each.last_sitemap_job_id for each in domains] == [each.id for each in jobs]
    assert [each.sitemap_analysis_status for each in domains] == ["submitted"] * 2
    assert [each.params["max_pages"] for each in jobs] == [7, 7]
    assert {each.batch_id for each in jobs} == {UUID(made["batch_id"])}


async def test_a_batch_makes_the_same_rows_as_single_scans(
    client: httpx.AsyncClient, database: Database
) -> None:
    await scan(client, "http://one.example/blog/?x=1", max_pages=5)
    await create(client, ["http://two.example/blog/?x=1"], max_pages=5)

    async with database.reading() as session:
        jobs = (await session.scalars(select(Job).order_by(Job.created_at))).all()
        domains = (await session.scalars(select(Domain).order_by(Domain.created_at))).all()
    differing = {"id", "created_at", "updated_at", "due_at", "domain_id", "batch_id", "domain"}
    differing |= {"last_sitemap_job_id", "sitemap_analysis_due_at"}
    pairs: list[Any] = [jobs, domains]
    for one, two in pairs:
        for column in [each.key for each in one.__table__.columns]:
            if column not in differing:
                of_one, of_two = getattr(one, column), getattr(two, column)
                assert str(of_two).replace("two.example", "one.example") == str(of_one), column


async def test_bad_lines_are_reported_and_good_ones_kept(client: httpx.AsyncClient) -> None:
    lines = ["bakery.example", "", "two words", 5, None, {"a": 1}, "http://10.0.0.1/", "ok.example"]
    made = await create(client, lines)

    assert (made["accepted"], made["rejected"], made["duplicates"]) == (2, 6, 0)
    bad = [each for each in made["results"] if "error" in each]
    assert [each["input"] for each in bad] == [
        "",
        "two words",
        "5",
        "null",
        '{"a": 1}',
        "http://10.0.0.1/",
    ]
    assert all(len(each["error"]) > 15 and "job_id" not in each for each in bad)
    assert (await status(client, made))["counts"] == {"pending": 2}


async def test_half_a_character_costs_only_its_line(client: httpx.AsyncClient) -> None:
    body = rb'{"domains": ["a\ud800b.example", "a\u0000b.example", "good.example"]}'
    answer = await client.post(CREATE, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 202
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 2)


async def test_one_bad_line_alone_is_an_empty_and_finished_batch(client: httpx.AsyncClient) -> None:
    made = await create(client, ["not a domain"])
    seen = await status(client, made)

    assert (made["accepted"], made["rejected"]) == (0, 1)
    assert (seen["finished"], seen["progress"], seen["total"], seen["items"]) == (True, 1, 0, [])


async def test_repeated_lines_are_reported_once(
    client: httpx.AsyncClient, database: Database
) -> None:
    same = ["bakery.example", "BAKERY.example", "https://www.bakery.example", "", ""]
    made = await create(client, [*same, "bakery.example/menu"])

    assert [each.get("domain") for each in made["results"]] == [
        "bakery.example",
        None,
        "bakery.example/menu",
    ]
    assert made["duplicates"] == 3
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Domain)) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"domains": []},
        {"domains": "bakery.example"},
        {"domains": None},
        {"domains": {"a": "bakery.example"}},
        {},
        {"domains": ["bakery.example"], "max_pages": 0},
        {"domains": ["bakery.example"], "max_pages": "9"},
        {"domains": ["bakery.example"], "surprise": 1},
        [],
    ],
)
async def test_what_is_no_batch_is_refused(
    client: httpx.AsyncClient, database: Database, body: Any
) -> None:
    answer = await client.post(CREATE, json=body)

    assert answer.status_code == 422
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Batch)) == 0


async def test_a_list_that_is_too_long_is_refused_with_the_limit(
    client: httpx.AsyncClient, database: Database
) -> None:
    domains = [f"site{number}.example" for number in range(100_000)]
    answer = await client.post(CREATE, json={"domains": domains})

    assert answer.status_code == 422
    assert "100,000" in answer.json()["detail"]
    assert "2,000" in answer.json()["detail"]
    assert "BATCH_MAX_DOMAINS" in answer.json()["detail"]


def _belongs_to_it(statement: str) -> bool:
    """The process looks for alerts meanwhile, which is not the request's doing."""
    return statement.startswith(VERBS) and not re.search("schedule_runs|alert|workers", statement)


async def test_a_thousand_domains_take_as_many_statements_as_three(
    client: httpx.AsyncClient,
) -> None:
    engine = client.app.state.context.database.engine.sync_engine  # type: ignore[attr-defined]
    executed: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: executed.append(args[2]))
    counts = []
    for prefix, count in (("a", 3), ("b", 1000)):
        executed.clear()
        made = await create(client, [f"{prefix}{number}.example" for number in range(count)])
        counts.append(sum(_belongs_to_it(each) for each in executed))
        assert made["accepted"] == count

    assert 4 <= counts[0] == counts[1] < 15


async def test_a_job_that_was_active_before_counts_for_the_batch(
    client: httpx.AsyncClient, database: Database
) -> None:
    before = await scan(client, "bakery.example")
    made = await create(client, ["bakery.example", "florist.example"])
    again = await create(client, ["florist.example", "bakery.example"])

    first, second = made["results"]
    assert (first["job_id"], first["already_active"]) == (before["job_id"], True)
    assert (second["already_active"], again["results"][0]["already_active"]) == (False, True)
    async with database.transaction() as session:
        done = {
            "status": "complete",
            "progress": 1.0,
            "result_data": {"sitemaps_count": 2, "urls": 9},
        }
        await session.execute(update(Job).where(Job.id == UUID(before["job_id"])).values(**done))
    for each in (made, again):
        seen = await status(client, each)
        assert seen["counts"] == {"complete": 1, "pending": 1}
        assert (seen["finished"], seen["progress"]) == (False, 0.5)
    item = (await status(client, made))["items"][0]
    assert (item["domain"], item["sitemaps"], item["urls"]) == ("bakery.example", 2, 9)


async def test_progress_is_over_all_domains(client: httpx.AsyncClient, database: Database) -> None:
    made = await create(client, [f"site{number}.example" for number in range(4)])
    ids = [UUID(each["job_id"]) for each in made["results"]]
    async with database.transaction() as session:
        for job_id, values in zip(
            ids,
            [
                {"status": "processing", "progress": 0.5, "phase": "reading sitemaps"},
                {"status": "failed", "progress": 0.3, "error": "It does not answer."},
                {"status": "cancelled", "progress": 0.1},
                {"status": "complete", "progress": 1},
            ],
            strict=True,
        ):
            await session.execute(update(Job).where(Job.id == job_id).values(**values))
    seen = await status(client, made)

    assert seen["progress"] == pytest.approx(3.5 / 4)
    assert not seen["finished"]
    assert seen["counts"] == {"processing": 1, "failed": 1, "cancelled": 1, "complete": 1}
    assert [each["progress"] for each in seen["items"]] == [0.5, 0.3, 0.1, 1]
    assert seen["items"][0]["phase"] == "reading sitemaps"
    assert seen["items"][1]["error"] == "It does not answer."


async def test_a_deleted_job_is_still_known_to_have_been_asked_for(
    client: httpx.AsyncClient, database: Database
) -> None:
    made = await create(client, ["bakery.example", "florist.example"])
    async with database.transaction() as session:
        await session.execute(delete(Job).where(Job.id == UUID(made["results"][0]["job_id"])))
    seen = await status(client, made)

    assert seen["counts"] == {"deleted": 1, "pending": 1}
    assert [each["domain"] for each in seen["items"]] == ["bakery.example", "florist.example"]
    assert seen["items"][0]["job_id"] is None


async def test_the_domains_page_by_cursor_in_the_order_given(client: httpx.AsyncClient) -> None:
    names = [f"site{number}.example" for number in (3, 1, 4, 15, 9)]
    made = await create(client, names)
    seen, cursor = [], None
    for _ in range(3):
        page = await status(client, made, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [each["domain"] for each in page["items"]]
        cursor = page["next_cursor"]

    assert (seen, cursor) == (names, None)
    for junk in ("-1", "²", "9" * 30, "%00"):
        answer = await client.get(made["status_url"], params={"cursor": junk})
        assert answer.status_code == 422, junk


async def test_a_batch_of_another_tenant_is_not_there(url: str, database: Database) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    async with database.transaction() as session:
        _, ours = await create_api_key(
            session, await get_system_actor(session, settings), name="ours", role=Role.ADMIN
        )
        tenant = Tenant(id=uuid7(), name="others")
        session.add(tenant)
        await session.flush()
        user = User(id=uuid7(), tenant_id=tenant.id, name="other", role=Role.ADMIN)
        session.add(user)
        await session.flush()
        other = Actor(user_id=user.id, tenant_id=tenant.id)
        _, theirs = await create_api_key(session, other, name="theirs", role=Role.ADMIN)
    async with serving(settings) as client:
        client.headers["Authorization"] = f"Bearer {ours}"
        made = await create(client, ["bakery.example"])
        client.headers["Authorization"] = f"Bearer {theirs}"
        unseen = await client.get(made["status_url"])
        own = await create(client, ["bakery.example"])

    assert unseen.status_code == 404
    assert own["results"][0]["already_active"] is False


async def test_an_unknown_batch_is_said_so(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"/api/v3/sitemap/batch/status/{uuid4()}")

    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no batch")


async def test_batches_of_the_same_domains_at_once_share_their_jobs(
    client: httpx.AsyncClient, database: Database
) -> None:
    names = [f"site{number}.example" for number in range(200)]
    made = await asyncio.gather(
        *(create(client, names if number % 2 else names[::-1]) for number in range(6))
    )

    jobs = [{each["domain"]: each["job_id"] for each in one["results"]} for one in made]
    assert all(each == jobs[0] for each in jobs)
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Job)) == 200
        assert await session.scalar(select(func.count()).select_from(BatchJob)) == 1200


async def test_a_batch_that_meets_its_rows_locked_crosswise_is_stored_all_the_same(
    client: httpx.AsyncClient, database: Database
) -> None:
    settings = client.app.state.context.settings  # type: ignore[attr-defined]
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        ids = [
            await upsert_domain(session, actor, settings, parse_site(name, settings).key)
            for name in ("a.example", "b.example")
        ]

    first, last = (select(Domain.id).where(Domain.id == each).with_for_update() for each in ids)
    made = await lose_a_deadlock(
        database, lambda: create(client, ["a.example", "b.example"]), first=first, last=last
    )

    assert made["accepted"] == 2
    assert (await status(client, made))["total"] == 2


async def test_a_batch_is_worked_to_its_end(url: str) -> None:
    async with FakeWeb() as web:
        for name in ("bakery.example", "florist.example"):
            site = web.host(name)
            site.robots(f"Sitemap: http://{name}/sitemap.xml")
            site.xml("/sitemap.xml", urlset(f"http://{name}/", f"http://{name}/about"))
        settings = make_settings(url, fetch_resolve=web.resolve)
        async with serving(settings) as client:
            made = await create(client, ["bakery.example", "florist.example"])
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (seen := await status(client, made))["finished"]:
                    await asyncio.sleep(0.05)

    assert (seen["progress"], seen["counts"]) == (1.0, {"complete": 2})
    assert [(each["sitemaps"], each["urls"]) for each in seen["items"]] == [(1, 2), (1, 2)]
