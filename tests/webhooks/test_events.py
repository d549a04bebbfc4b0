"""Events are inserted in the transaction in which they happen, for subscribed endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event, func, select

from scrapersky.contacts.service import NewContact, add
from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.jobs import service as job_service
from scrapersky.models import (
    Contact,
    ContactKind,
    Domain,
    Job,
    Lead,
    Suppression,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEvent,
)
from scrapersky.models.stage_names import DELIVERY_STAGE
from scrapersky.models.suppression import compute_digest
from scrapersky.models.webhook_events import emit_event, emit_events, has_subscribers
from scrapersky.models.webhook_payloads import build_domain_data, build_lead_data
from scrapersky.pipeline.bulk import BulkOptions, cancel_rows
from scrapersky.pipeline.wake import IN_SESSION
from scrapersky.settings import Settings
from scrapersky.sitemaps import discovery
from tests.app import ended, scan, serving
from tests.auth.accounts import SYSTEM, add_tenant
from tests.conftest import make_settings
from tests.contacts.rows import a_domain, stored
from tests.fake_web import FakeWeb, urlset
from tests.leads.stage_runs import html, prepared, started
from tests.stage_cases import OWNED
from tests.webhooks.receivers import ALL, FINISHED, add_endpoint, deliveries, tell

TENANT = OWNED["tenant_id"]
NOBODY = "http://127.0.0.1:9/"
"""Takes no connection, which is known at once."""
JOB, LEAD = WebhookEvent.JOB_FINISHED, WebhookEvent.LEAD_COMPLETED


async def told(database: Database, kind: WebhookEvent) -> list[dict[str, Any]]:
    return [each.payload for each in await deliveries(database) if each.event == kind]


async def test_each_endpoint_that_wants_the_event_gets_a_delivery(database: Database) -> None:
    wanted = {await add_endpoint(database, events=[JOB]) for _ in range(2)}
    await add_endpoint(database, events=[LEAD])
    await add_endpoint(database, events=[JOB], is_active=False)
    await tell(database)

    found = await deliveries(database)
    assert {each.endpoint_id for each in found} == wanted
    assert len(found) == 2
    assert {(each.host, each.status) for each in found} == {("hooks.example", "pending")}
    assert found[0].payload == FINISHED


async def test_what_is_rolled_back_is_not_told(database: Database) -> None:
    await add_endpoint(database)

    async def go_wrong() -> None:
        async with database.transaction() as session:
            await emit_event(session, TENANT, JOB, None, FINISHED)
            assert await session.scalar(select(func.count(WebhookDelivery.id))) == 1
            raise RuntimeError("something else went wrong")

    with pytest.raises(RuntimeError):
        await go_wrong()

    assert await deliveries(database) == []


async def test_other_tenants_are_not_told(database: Database) -> None:
    other = await add_tenant(database, "others")
    await add_endpoint(database, tenant_id=other.tenant_id, created_by=other.user_id)
    await tell(database)

    assert await deliveries(database) == []


async def test_who_listens_is_asked_once_in_a_transaction(database: Database) -> None:
    asked: list[str] = []
    sync = database.engine.sync_engine

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(sync, "before_cursor_execute", note)
    async with database.transaction() as session:
        for _ in range(50):
            await emit_event(session, TENANT, JOB, None, FINISHED)

    assert len([each for each in asked if "webhook" in each]) == 1
    assert DELIVERY_STAGE not in session.info.get(IN_SESSION, ())


async def test_a_savepoint_that_is_rolled_back_tells_nothing(
    database: Database,
) -> None:
    await add_endpoint(database)
    async with database.transaction() as session:
        undone = await session.begin_nested()
        await emit_event(session, TENANT, JOB, None, {"n": 1})
        await undone.rollback()
        await emit_event(session, TENANT, JOB, None, {"n": 2})

    assert [each.payload for each in await deliveries(database)] == [{"n": 2}]


async def test_an_endpoint_cannot_be_deleted_before_it_is_told(database: Database) -> None:
    endpoint = await add_endpoint(database)
    mine = select(WebhookEndpoint.id).where(WebhookEndpoint.id == endpoint)
    async with database.transaction() as session, database.transaction() as other:
        free = (await other.scalars(mine)).all()
        assert await has_subscribers(session, TENANT, JOB)
        deletable = (await other.scalars(mine.with_for_update(skip_locked=True))).all()
        changeable = mine.with_for_update(skip_locked=True, key_share=True)
        assert (await other.scalars(changeable)).all() == free == [endpoint]

    assert deletable == []


async def test_many_are_told_at_once_with_ids_as_text(database: Database) -> None:
    await add_endpoint(database)
    job_id = uuid7()
    async with database.transaction() as session:
        many = [(TENANT, JOB, job_id, {"id": job_id, "n": n}) for n in range(2_500)]
        await emit_events(session, many)

    found = await deliveries(database)
    assert len(found) == 2_500
    assert {each.payload["id"] for each in found} == {str(job_id)}
    assert sorted(each.payload["n"] for each in found) == list(range(2_500))
    assert len({each.id for each in found}) == 2_500


async def test_leads_and_domains_are_told_flat(database: Database) -> None:
    await add_endpoint(database)
    domain = Domain(id=uuid7(), domain="bakery.example", title="Bread", **OWNED)
    lead = Lead(id=uuid7(), domain_id=domain.id, best_email="info@bakery.example", **OWNED)
    async with database.transaction() as session:
        session.add(domain)
        await session.flush()
        session.add(lead)
        await session.flush()
        await emit_event(session, TENANT, LEAD, lead.id, build_lead_data(lead))
        kind = WebhookEvent.DOMAIN_COMPLETED
        await emit_event(session, TENANT, kind, domain.id, build_domain_data(domain))

    (of_lead,), (of_domain,) = await told(database, LEAD), await told(database, kind)
    assert of_lead["best_email"] == "info@bakery.example"
    assert of_lead["link"] == f"/leads/{lead.id}"
    assert (of_domain["domain"], of_domain["title"]) == ("bakery.example", "Bread")
    assert of_domain["link"] == f"/domains/{domain.id}"


async def test_a_page_tells_of_its_new_contacts_once_and_never_of_suppressed_ones(
    url: str, database: Database
) -> None:
    await add_endpoint(database, events=["contact.created"])
    async with database.transaction() as session:
        shy = compute_digest("anna@bakery.example")
        session.add(Suppression(kind="email", value="anna@bakery.example", digest=shy, **OWNED))
    body = "<a href=mailto:info@bakery.example>x</a> <a href=mailto:anna@bakery.example>y</a>"
    async with prepared(url, database) as ready:
        ready.web.host("bakery.example").page("/contact", html(body)).page("/about", html(body))
        async with started(ready, url) as run:
            domain = await run.domain("bakery.example", status="completed")
            await run.page(domain, "http://bakery.example/contact")
            await run.work("process_page_curation_queue")
            first = await told(database, WebhookEvent.CONTACT_CREATED)
            await run.page(domain, "http://bakery.example/about")
            await run.work("process_page_curation_queue")

    assert [each["value"] for each in first] == ["info@bakery.example"]
    assert (first[0]["domain"], first[0]["kind"]) == ("bakery.example", "email")
    assert first[0]["page_url"] == "http://bakery.example/contact"
    assert await told(database, WebhookEvent.CONTACT_CREATED) == first
    async with database.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Contact)) == 2


async def test_a_contact_that_a_person_adds_is_told_too(database: Database) -> None:
    await add_endpoint(database)
    await stored(database, a_domain("bakery.example"))
    async with database.transaction() as session:
        new = NewContact("bakery.example", ContactKind.EMAIL, "anna@bakery.example", name="Anna")
        await add(session, SYSTEM, new)

    (found,) = await told(database, WebhookEvent.CONTACT_CREATED)
    assert (found["value"], found["name"]) == ("anna@bakery.example", "Anna")
    assert found["page_url"] is None


async def test_scans_tell_how_they_ended_and_what_had_changed(url: str, database: Database) -> None:
    await add_endpoint(database, NOBODY, events=ALL)
    async with FakeWeb() as web:
        site = web.host("bakery.example")
        site.robots("Sitemap: http://bakery.example/sitemap.xml")
        site.page("/", html("<p>Bread</p>"))
        site.xml("/sitemap.xml", urlset("http://bakery.example/a", "http://bakery.example/b"))
        settings = make_settings(
            url, fetch_resolve=web.resolve, auto_import_sitemaps=False, retry_base_seconds=600
        )
        async with serving(settings) as client:
            first = await scan(client, "http://bakery.example")
            await ended(client, first["job_id"])
            at_first = await told(database, WebhookEvent.SITEMAP_CHANGED)
            site.xml("/sitemap.xml", urlset("http://bakery.example/a", "http://bakery.example/c"))
            second = await scan(client, "http://bakery.example")
            await ended(client, second["job_id"])

    assert at_first == []
    (changed,) = await told(database, WebhookEvent.SITEMAP_CHANGED)
    assert (changed["new"], changed["gone"], changed["domain"]) == (1, 1, "bakery.example")
    finished = await told(database, JOB)
    assert {each["id"] for each in finished} == {first["job_id"], second["job_id"]}
    assert {each["status"] for each in finished} == {"complete"}
    assert {each["counts"]["urls"] for each in finished} == {2}


async def test_a_scan_that_fails_tells_why(url: str, database: Database) -> None:
    await add_endpoint(database, NOBODY, events=[JOB])
    async with serving(make_settings(url)) as client:
        asked = await scan(client, "http://nowhere.invalid")
        await ended(client, asked["job_id"])

    (found,) = await told(database, JOB)
    assert (found["status"], found["subject"]) == ("failed", "nowhere.invalid")
    assert "does not resolve" in found["error"]


async def test_cancelled_jobs_are_told_one_by_one_or_many_at_once(
    database: Database, settings: Settings
) -> None:
    await add_endpoint(database)
    jobs = [Job(id=uuid7(), job_type="sitemap", subject=f"s{n}", **OWNED) for n in range(3)]
    async with database.transaction() as session:
        session.add_all(jobs)
    async with database.transaction() as session:
        wait = settings.rescan_interval
        await job_service.cancel(session, SYSTEM, jobs[0].id, next_scan_in=wait)
    async with database.transaction() as session:
        await cancel_rows(session, discovery.STAGE, [], options=BulkOptions(), settings=settings)

    found = await told(database, JOB)
    assert sorted(each["subject"] for each in found) == ["s0", "s1", "s2"]
    assert {each["status"] for each in found} == {"cancelled"}
    assert {each["error"] for each in found} == {"Cancelled."}
