"""No tenant can see or change rows of another, even if a service forgets the condition."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import delete, exists, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from scrapersky.db.base import Base
from scrapersky.db.session import Database
from scrapersky.models import (
    Actor,
    ApiKey,
    BatchJob,
    Domain,
    Job,
    Role,
    SitemapFile,
    SitemapUrl,
    Tenant,
    User,
    restrict_to_tenant,
)
from scrapersky.models.ownership import TenantMixin
from scrapersky.pipeline.tables import DeadLetter
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.auth.api_calls import Call, calls
from tests.auth.tenant_rows import MARK, add_belongings

OF_THE_INSTALLATION = {
    "alerts",
    "cost_meters",
    "geocoded_areas",
    "host_slots",
    "hosts",
    "installation_budget",
    "provider_days",
    "provider_pauses",
    "chore_failures",
    "schedule_runs",
    "sign_in_buckets",
    "stage_controls",
    "stage_events",
    "workers",
}
"""Nobody's in particular; routes that show or change them are for operators."""
KEPT_OTHERWISE = {"tenants", "dead_letters", "sitemap_urls", "batch_jobs", "bulk_action_rows"}
"""Without a tenant of their own, or perhaps without one: `models/tenancy.py` names each."""


def ours() -> list[type[Base]]:
    mapped = [each.class_ for each in Base.registry.mappers]
    return [each for each in mapped if each.__module__.startswith("scrapersky.")]


def test_every_table_is_a_tenants_or_the_installations() -> None:
    unsaid = {
        each.__tablename__
        for each in ours()
        if not issubclass(each, TenantMixin)
        and each.__tablename__ not in OF_THE_INSTALLATION | KEPT_OTHERWISE
    }

    assert unsaid == set()


@pytest.fixture
async def belongings(database: Database) -> dict[str, str]:
    """What the first tenant has."""
    async with database.transaction() as session:
        return await add_belongings(session, SYSTEM)


@pytest.fixture
async def second(database: Database) -> Actor:
    return await add_tenant(database, "second")


@pytest.fixture
async def theirs(
    database: Database, belongings: dict[str, str], second: Actor
) -> AsyncIterator[AsyncSession]:
    """A session as a request of the second tenant gets it."""
    async with database.transaction() as session:
        restrict_to_tenant(session, second.tenant_id)
        yield session


async def test_there_is_something_of_everything_to_be_seen(
    database: Database, belongings: dict[str, str]
) -> None:
    """Otherwise the walk would prove nothing of it: add a row to `belongings.py`."""
    async with database.reading() as session:
        empty = [
            each.__tablename__
            for each in ours()
            if each.__tablename__ not in OF_THE_INSTALLATION
            and not await session.scalar(select(exists(select(each))))
        ]

    assert empty == []


FORGETFUL: dict[str, Callable[[], Any]] = {
    "rows": lambda: select(Job),
    "columns": lambda: select(Job.id),
    "a count": lambda: select(Job.id).where(
        select(func.count()).select_from(Job).scalar_subquery() > 0
    ),
    "an alias": lambda: select(aliased(Job).id),
    "rows to lock": lambda: select(Job).with_for_update(),
    "a subquery": lambda: select(select(Job.id).subquery().c.id),
    "a CTE": lambda: select(select(Job.id).cte().c.id),
    "a union": lambda: union_all(select(Job.id), select(Domain.id)),
    "a join": lambda: select(SitemapUrl.id).join(
        SitemapFile, SitemapFile.id == SitemapUrl.sitemap_id
    ),
    "an existence": lambda: select(Tenant.id).where(exists(select(Job.id))),
    "URLs": lambda: select(SitemapUrl.id),
    "jobs of batches": lambda: select(BatchJob.domain),
    "dead letters": lambda: select(DeadLetter),
    "keys": lambda: select(ApiKey).where(ApiKey.name == MARK),
    "users": lambda: select(User).where(User.role == Role.CURATOR),
    "tenants": lambda: select(Tenant).where(Tenant.id == SYSTEM.tenant_id),
}


@pytest.mark.parametrize("what", FORGETFUL)
async def test_a_forgetful_query_finds_nothing_of_others(
    database: Database, theirs: AsyncSession, what: str
) -> None:
    async with database.reading() as unkept:
        assert (await unkept.execute(FORGETFUL[what]())).all() != []

    assert (await theirs.execute(FORGETFUL[what]())).all() == []


async def test_a_forgetful_change_changes_nothing_of_others(
    database: Database, belongings: dict[str, str], second: Actor
) -> None:
    job_id = UUID(belongings["job_id"])
    async with database.transaction() as theirs:
        restrict_to_tenant(theirs, second.tenant_id)
        await theirs.execute(update(Job).values(phase="theirs"))
        await theirs.execute(update(Job).where(Job.id == job_id).values(phase="theirs"))
        await theirs.execute(delete(SitemapUrl))
        await theirs.execute(delete(DeadLetter))
        assert await theirs.get(Job, job_id) is None

    async with database.reading() as session:
        assert (await session.get_one(Job, job_id)).phase is None
        for model in (SitemapUrl, DeadLetter):
            assert await session.scalar(select(func.count()).select_from(model)) == 1


async def test_ones_own_are_found(database: Database, belongings: dict[str, str]) -> None:
    async with database.reading() as session:
        restrict_to_tenant(session, SYSTEM.tenant_id)
        found = [(await session.execute(each())).all() for each in FORGETFUL.values()]

    assert all(found)


async def everything(database: Database, *, but: UUID) -> dict[tuple[str, Any], Any]:
    """Every row there is; but a key whose use is noted."""
    tables = [Base.metadata.tables[model.__tablename__] for model in ours()]
    async with database.reading() as session:
        rows = {
            (table.name, tuple(row._mapping[each] for each in table.primary_key)): tuple(row)
            for table in tables
            for row in await session.execute(select(table))
        }
    del rows["api_keys", (but,)]
    return rows


async def objections(
    call: Call, client: httpx.AsyncClient, secrets: set[str], *, noted: str
) -> AsyncIterator[str]:
    """What of the first tenant's is answered, other than what was sent; the audit log may repeat
    what it has `noted` of what was sent before."""
    said, sent = f"{call.method} {call.path}", f"{call.path} {call.params} {call.body}"
    sent += noted if call.path == "/api/v3/audit" else ""
    try:
        answer = await call.sent(client)
    except TimeoutError:
        yield f"{said} does not end"
        return
    if call.is_about_one and answer.status_code not in (403, 404):
        yield f"{said} is answered {answer.status_code}"
    if found := [each for each in secrets if each in answer.text and each not in sent]:
        yield f"{said} shows {found}"


async def test_no_route_shows_or_changes_anything_of_another_tenant(
    url: str, database: Database, belongings: dict[str, str], second: Actor
) -> None:
    key_id, secret = await add_key(database, second)
    before = await everything(database, but=key_id)
    secrets = {MARK, *(each for name, each in belongings.items() if name.endswith("_id"))}
    wrong: list[str] = []
    async with asking(signed_in_settings(url), secret) as client:
        walked = list(calls(client.app, belongings))  # type: ignore[attr-defined]
        filters = str([each.params for each in walked if each.path.endswith("/export")])
        for call in walked:
            wrong += [each async for each in objections(call, client, secrets, noted=filters)]

    assert len(walked) > 40
    assert wrong == []
    after = await everything(database, but=key_id)
    assert {key: after.get(key) for key in before} == before


async def test_the_owner_sees_what_the_walk_looks_for(
    url: str, database: Database, belongings: dict[str, str]
) -> None:
    """Or the walk would look for something that is never shown."""
    _, secret = await add_key(database)
    blind: list[str] = []
    async with asking(signed_in_settings(url), secret) as client:
        walked = list(calls(client.app, belongings))  # type: ignore[attr-defined]
        for call in walked:
            if call.is_about_one and not call.changes and not call.streams:
                answer = await call.sent(client)
                if answer.status_code != 200:
                    blind.append(f"{call.path} {answer.status_code} {answer.text}")

    assert blind == []


async def test_figures_are_of_ones_own_rows_and_of_all_for_operators(
    url: str, database: Database, belongings: dict[str, str], second: Actor
) -> None:
    _, mine = await add_key(database)
    _, foreign = await add_key(database, second)
    settings = signed_in_settings(url)
    async with asking(settings, foreign) as client:
        seen_by_second = (await client.get("/api/v3/stages")).json()
    async with database.transaction() as session:
        await add_belongings(session, second)
    async with asking(settings, mine) as client:
        seen_by_operator = (await client.get("/api/v3/stages")).json()

    jobs = {each["name"]: each["counts"] for each in seen_by_second}["process_pending_sitemaps"]
    all_jobs = {each["name"]: each["counts"] for each in seen_by_operator}
    assert sum(jobs.values()) == 0
    assert all_jobs["process_pending_sitemaps"]["failed"] == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v3/stages/process_pending_sitemaps/run"),
        ("POST", "/api/v3/stages/process_pending_sitemaps/pause"),
        ("POST", "/api/v3/stages/process_pending_sitemaps/resume"),
        ("GET", "/api/v3/workers"),
    ],
)
async def test_what_concerns_all_tenants_is_for_the_default_tenants_people(
    url: str, database: Database, second: Actor, method: str, path: str
) -> None:
    _, mine = await add_key(database)
    _, foreign = await add_key(database, second)
    settings = signed_in_settings(url)
    async with asking(settings, foreign) as client:
        refused = await client.request(method, path)
        client.headers["Authorization"] = f"Bearer {mine}"
        done = await client.request(method, path)

    assert refused.status_code == 403
    assert "default tenant" in refused.json()["detail"]
    assert done.is_success


async def test_letters_of_nobodys_rows_are_the_operators(
    url: str, database: Database, second: Actor, belongings: dict[str, str]
) -> None:
    async with database.transaction() as session:
        await session.execute(update(DeadLetter).values(tenant_id=None))
    path = f"/api/v3/dead-letters/{belongings['letter_id']}"
    _, mine = await add_key(database)
    _, foreign = await add_key(database, second)
    async with asking(signed_in_settings(url), foreign) as client:
        refused = await client.get(path)
        client.headers["Authorization"] = f"Bearer {mine}"
        seen = await client.get(path)

    assert (refused.status_code, seen.status_code) == (404, 200)
