"""Pages over the API: import, list, details."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx
import pytest

from scrapersky.auth.service import create_api_key, get_system_actor
from scrapersky.db.session import Database
from scrapersky.models import Role, SitemapFile, Tenant, User
from scrapersky.pipeline.loop import StageRunner, run_job_loop
from scrapersky.pipeline.stage import Tools
from scrapersky.pipeline.workers import WorkerIdentity
from scrapersky.settings import Settings
from scrapersky.sitemaps import imports
from tests.app import serving
from tests.conftest import make_settings
from tests.stage_cases import CASES

PAGES = "/api/v3/pages"


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def add_files(database: Database, count: int, status: str = "New") -> list[UUID]:
    """Sitemap files of three URLs, each of a domain of its own."""
    async with database.transaction() as session:
        ids = await CASES[imports.STAGE.name].make_due(session, count)
        for file_id in ids:
            (await session.get_one(SitemapFile, file_id)).sitemap_import_status = status
    return ids


async def run_imports(database: Database, settings: Settings) -> None:
    tools = Tools(fetch=None, settings=settings)  # type: ignore[arg-type]
    runner = StageRunner(
        imports.STAGE,
        database=database,
        worker=WorkerIdentity(),
        tools=tools,
        settings=settings,
    )
    await run_job_loop(runner)


@pytest.fixture
async def files(database: Database, settings: Settings) -> list[UUID]:
    """Two sitemap files whose pages have been imported."""
    ids = await add_files(database, 2, "Queued")
    await run_imports(database, settings)
    return ids


async def test_an_import_that_is_asked_for_ends_in_pages(
    client: httpx.AsyncClient, database: Database, settings: Settings
) -> None:
    (file_id,) = await add_files(database, 1)
    answer = await client.post(f"/api/v3/sitemap-files/{file_id}/import")
    await run_imports(database, settings)
    listed = (await client.get(answer.json()["pages_url"])).json()

    assert answer.status_code == 202
    assert answer.json()["sitemap_import_status"] == "Queued"
    assert answer.json()["already_active"] is False
    assert {page["url"] for page in listed["items"]} == {
        f"https://site.example/{n}" for n in range(3)
    }
    assert listed["next_cursor"] is None


async def test_asking_again_while_the_import_is_active_changes_nothing(
    client: httpx.AsyncClient, database: Database
) -> None:
    (file_id,) = await add_files(database, 1)
    first = await client.post(f"/api/v3/sitemap-files/{file_id}/import")
    second = await client.post(f"/api/v3/sitemap-files/{file_id}/import")

    assert (first.json()["already_active"], second.json()["already_active"]) == (False, True)
    assert second.status_code == 202


async def test_the_import_of_an_unknown_file_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"/api/v3/sitemap-files/{uuid4()}/import")

    assert answer.status_code == 404
    assert "There is no sitemap file" in answer.json()["detail"]


async def test_a_reader_may_look_but_not_import(
    url: str, database: Database, files: list[UUID]
) -> None:
    settings = make_settings(url, scheduler_enabled=False, auth_mode="required")
    async with database.transaction() as session:
        actor = await get_system_actor(session, settings)
        _, secret = await create_api_key(session, actor, name="reader", role=Role.VIEWER)
    async with serving(settings) as client:
        client.headers["X-API-Key"] = secret
        seen = await client.get(PAGES)
        refused = await client.post(f"/api/v3/sitemap-files/{files[0]}/import")

    assert (seen.status_code, refused.status_code) == (200, 403)


async def test_a_list_shows_the_pages_of_one_domain_or_file(
    client: httpx.AsyncClient, database: Database, files: list[UUID]
) -> None:
    async with database.reading() as session:
        domain_id = (await session.get_one(SitemapFile, files[0])).domain_id
    everything = (await client.get(PAGES)).json()["items"]
    of_domain = (await client.get(PAGES, params={"domain_id": str(domain_id)})).json()["items"]
    of_file = (await client.get(PAGES, params={"sitemap_file_id": str(files[0])})).json()["items"]

    assert len(everything) == 6
    assert len(of_domain) == 3
    assert {page["domain_id"] for page in of_domain} == {str(domain_id)}
    assert of_file == of_domain


async def test_the_cursor_leads_through_all_pages_newest_first(
    client: httpx.AsyncClient, files: list[UUID]
) -> None:
    seen: list[tuple[str, str]] = []
    cursor: dict[str, str] = {}
    while True:
        body = (await client.get(PAGES, params={"limit": 4, **cursor})).json()
        seen += [(page["created_at"], page["id"]) for page in body["items"]]
        if body["next_cursor"] is None:
            break
        cursor = {"cursor": body["next_cursor"]}

    assert len(seen) == 6
    assert seen == sorted(set(seen), reverse=True)


async def test_one_page_says_all_that_is_known(
    client: httpx.AsyncClient, files: list[UUID]
) -> None:
    listed = (await client.get(PAGES)).json()["items"][0]
    page = (await client.get(f"{PAGES}/{listed['id']}")).json()

    assert page == listed
    assert (page["path_depth"], page["page_type"]) == (1, "other")
    assert page["page_curation_status"] == "New"


async def test_pages_of_somebody_else_are_not_there(
    url: str, database: Database, files: list[UUID], client: httpx.AsyncClient
) -> None:
    page_id = (await client.get(PAGES)).json()["items"][0]["id"]
    async with database.transaction() as session:
        tenant = Tenant(name="others")
        session.add(tenant)
        await session.flush()
        stranger = User(tenant_id=tenant.id, name="stranger", role=Role.ADMIN)
        session.add(stranger)
        await session.flush()
        stranger_id = stranger.id
    foreign = make_settings(url, scheduler_enabled=False, scheduler_system_user_id=stranger_id)
    async with serving(foreign) as theirs:
        one = await theirs.get(f"{PAGES}/{page_id}")
        listed = await theirs.get(PAGES)

    assert one.status_code == 404
    assert listed.json()["items"] == []
