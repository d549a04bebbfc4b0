"""`created_by` is the person for requests, and the system user for stages and chores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import func, select, update

from scrapersky.db.connection import open_database
from scrapersky.db.session import Database
from scrapersky.models import (
    Actor,
    Contact,
    Domain,
    Job,
    Lead,
    LocalBusiness,
    Page,
    Place,
    SavedSearch,
    SitemapFile,
    get_system_user_id,
)
from scrapersky.places.search.saved_searches import save_search, start_due_searches
from scrapersky.sitemaps.rescans import queue_due_domains
from tests.app import ended, scan
from tests.auth.accounts import add_key, add_tenant, add_user, asking
from tests.conftest import make_settings
from tests.fake_web import FakeWeb, urlset
from tests.import_files import import_csv
from tests.stage_cases import SYSTEM_USER_ID

HOME = "<html><title>Bakery</title><body><a href='/contact'>Contact</a></body></html>"
CONTACT = "<html><body><a href='mailto:hello@bakery.example'>Write to us</a></body></html>"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    async with FakeWeb() as made:
        host = made.host("bakery.example")
        host.robots(f"Sitemap: {host.base}/sitemap.xml\n")
        host.page("/", HOME).page("/contact", CONTACT)
        host.xml("/sitemap.xml", urlset(f"{host.base}/", f"{host.base}/contact"))
        yield made


@pytest.fixture
async def person(database: Database) -> Actor:
    """Somebody in a tenant of their own, which the system user is not in."""
    return await add_tenant(database, "bakers")


@pytest.fixture
def settings(url: str, web: FakeWeb) -> Any:
    return make_settings(url, fetch_resolve=web.resolve, auth_mode="required")


async def creators(database: Database, model: Any) -> set[UUID]:
    async with database.reading() as session:
        return set(await session.scalars(select(model.created_by)))


async def wait_for(database: Database, model: Any, *where: Any) -> None:
    async with asyncio.timeout(60):
        while True:
            async with database.reading() as session:
                if await session.scalar(select(func.count()).select_from(model).where(*where)):
                    return
            await asyncio.sleep(0.05)


async def rescan(database: Database, app_database: Database, settings: Any) -> Job:
    """Make the domain due until a second job exists.

    One try is not enough: a domain whose first scan is still being stored is not queued. It uses
    the application's own pool, so that its commit wakes the stage that has to go on.
    """
    async with asyncio.timeout(60):
        while True:
            async with database.transaction() as session:
                jobs = (await session.scalars(select(Job).order_by(Job.created_at))).all()
                if len(jobs) > 1:
                    return jobs[1]
                await session.execute(update(Domain).values(next_scan_at=func.now()))
            await queue_due_domains(app_database, settings)
            await asyncio.sleep(0.05)


async def test_a_scan_belongs_to_the_person_and_what_it_finds_to_the_system_user(
    database: Database, settings: Any, person: Actor
) -> None:
    _, key = await add_key(database, person)
    async with asking(settings, key) as client:
        job = await ended(client, (await scan(client, "bakery.example"))["job_id"], seconds=60)
        await wait_for(database, Contact)
        (contact,) = (await client.get("/api/v3/contacts")).json()["items"]
        lineage = (await client.get(f"/api/v3/contacts/{contact['id']}/lineage")).json()

    assert job["created_by"] == str(person.user_id)
    assert await creators(database, Domain) == await creators(database, Job) == {person.user_id}
    for model in (SitemapFile, Page, Contact, Lead):
        assert await creators(database, model) == {SYSTEM_USER_ID}, model.__name__
    assert lineage["domain"]["created_by"] == str(person.user_id)


async def test_a_rescan_belongs_to_the_system_user_and_its_domain_to_the_person(
    database: Database, settings: Any, person: Actor
) -> None:
    _, key = await add_key(database, person)
    async with asking(settings, key) as client:
        await ended(client, (await scan(client, "bakery.example"))["job_id"], seconds=60)
        job = await rescan(database, client.app.state.context.database, settings)  # type: ignore[attr-defined]

    async with database.reading() as session:
        domain = await session.get_one(Domain, job.domain_id)
    assert (job.created_by, job.tenant_id) == (SYSTEM_USER_ID, person.tenant_id)
    assert domain.created_by == person.user_id


async def test_a_list_of_businesses_leads_from_the_domain_back_to_the_person(
    database: Database, settings: Any, person: Actor
) -> None:
    _, key = await add_key(database, person)
    text = "name,website,city\nBakery,http://bakery.example,Leipzig\n"
    async with asking(settings, key) as client:
        await import_csv(client, "places", text)
        await wait_for(database, Contact)
        (contact,) = (await client.get("/api/v3/contacts")).json()["items"]
        lineage = (await client.get(f"/api/v3/contacts/{contact['id']}/lineage")).json()

    assert await creators(database, Place) == {person.user_id}
    for model in (LocalBusiness, Domain, Lead):
        assert await creators(database, model) == {SYSTEM_USER_ID}, model.__name__
    assert lineage["domain"]["created_by"] == str(SYSTEM_USER_ID)
    assert [each["created_by"] for each in lineage["searches"]] == [str(person.user_id)]


async def test_a_repeated_search_belongs_to_the_person_who_saved_it(
    database: Database, settings: Any, person: Actor
) -> None:
    async with database.transaction() as session:
        job = Job(
            tenant_id=person.tenant_id,
            created_by=person.user_id,
            job_type="place_search",
            subject="bakeries in Leipzig",
            status="complete",
        )
        session.add(job)
        await session.flush()
        await save_search(session, person, job, 7)
        await session.execute(update(SavedSearch).values(next_run_at=func.now()))

    assert await start_due_searches(database, settings) == 1
    assert await creators(database, Job) == {person.user_id}


async def test_another_system_user_is_the_one_that_the_setting_names(
    url: str, database: Database
) -> None:
    robot = await add_user(database, "robot")
    settings = make_settings(url, scheduler_system_user_id=robot.user_id)
    async with open_database(settings) as opened, opened.transaction() as session:
        assert get_system_user_id(session) == robot.user_id
