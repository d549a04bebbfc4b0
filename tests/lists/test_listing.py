"""Lists follow their declarations: every filter, sort key and total, and invalid values."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.db.statements import explain
from scrapersky.domains.listing import DOMAINS
from scrapersky.jobs.listing import JOBS
from scrapersky.lists import Listing
from scrapersky.lists import listing as totals
from scrapersky.models import (
    DEFAULT_TENANT_ID,
    Actor,
    Domain,
    Job,
    LocalBusiness,
    Page,
    Place,
    Role,
    SitemapFile,
    Tenant,
    User,
    WebhookDelivery,
)
from scrapersky.operations.listing import DEAD_LETTER_LISTING
from scrapersky.pages.listing import PAGES
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.scraper.http.urls import url_digest
from scrapersky.sitemaps.listing import SITEMAP_FILES
from scrapersky.stages import STAGES
from tests.app import serving
from tests.conftest import make_settings
from tests.stage_cases import OWNED

API = "/api/v3"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
SYSTEM = Actor(user_id=OWNED["created_by"], tenant_id=DEFAULT_TENANT_ID)


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


def a_domain(name: str, **more: Any) -> Domain:
    return Domain(id=uuid7(), domain=name, **{**OWNED, **more})


def a_job(subject: str, domain: Domain | None = None, **more: Any) -> Job:
    values = {"job_type": "sitemap", "subject": subject, "params": {}, **OWNED, **more}
    return Job(id=uuid7(), domain_id=domain and domain.id, **values)


def a_letter(row: UUID, **more: Any) -> DeadLetter:
    values = {
        "tenant_id": DEFAULT_TENANT_ID,
        "stage": "process_pending_sitemaps",
        "attempts": 5,
        "error_class": "TimeoutError",
        "error": "It took too long.",
        "worker": "host 1",
        **more,
    }
    return DeadLetter(id=uuid7(), row_id=row, **values)


def a_file(domain: Domain, url: str, **more: Any) -> SitemapFile:
    values = {"discovery_method": "robots_txt", "status": "ok", **OWNED, **more}
    return SitemapFile(
        id=uuid7(), domain_id=domain.id, url=url, url_digest=url_digest(url), **values
    )


def a_page(domain: Domain, url: str, **more: Any) -> Page:
    values = {"path_depth": 1, **OWNED, **more}
    return Page(id=uuid7(), domain_id=domain.id, url=url, url_digest=url_digest(url), **values)


@pytest.fixture
async def two_sites(database: Database) -> None:
    """In each list, one row that differs from the other in everything a filter looks at."""
    old, older = NOW - timedelta(days=10), NOW - timedelta(days=20)
    bakery = a_domain(
        "bakery.example",
        created_at=old,
        last_scan=old,
        next_scan_at=old,
        sitemap_analysis_status="failed",
        sitemap_analysis_error="100% of_it",
        sitemap_curation_status="Maybe",
        scan_warning="Odd.",
    )
    brewery = a_domain("brewery.example", created_at=older, sitemap_analysis_status="submitted")
    async with database.transaction() as session:
        session.add_all([bakery, brewery])
        await session.flush()
        failed = a_job(
            "bakery.example",
            bakery,
            created_at=old,
            started_at=old,
            finished_at=old,
            due_at=old,
            status="failed",
            error="100% of_it",
            batch_id=uuid4(),
        )
        done = a_job("brewery.example", brewery, created_at=older, status="complete", due_at=older)
        session.add_all([failed, done])
        await session.flush()
        session.add_all(
            [
                a_file(
                    bakery,
                    "https://bakery.example/bread.xml",
                    status="error",
                    reason="100% of_it",
                    sitemap_import_status="Error",
                    sitemap_type="news",
                    discovery_method="html_link",
                    job_id=failed.id,
                    created_at=old,
                    last_processed_at=old,
                ),
                a_file(brewery, "https://brewery.example/ale.xml", created_at=older),
                a_page(
                    bakery,
                    "https://bakery.example/bread",
                    created_at=old,
                    lastmod=old,
                    page_type="contact",
                    page_curation_status="Selected",
                ),
                a_page(brewery, "https://brewery.example/ale", created_at=older),
                a_letter(
                    failed.id,
                    error="100% of_it",
                    error_class="Rejected",
                    stage="process_sitemap_imports",
                    died_at=old,
                    first_failed_at=old,
                    traceback="at line 7",
                    worker="host 2",
                ),
                a_letter(done.id, died_at=older, first_failed_at=older),
                a_letter(done.id, state="discarded", closed_at=older, died_at=older, note="known"),
            ]
        )


WHEN = {"since": "2026-06-01T00:00:00Z", "until": "2026-06-30"}
FILTERS: list[tuple[str, dict[str, Any]]] = [
    ("jobs", {"status": "failed"}),
    ("jobs", {"status": ["failed", "cancelled"]}),
    ("jobs", {"domain": "www.Bakery.example", "job_type": "sitemap"}),
    ("jobs", {"error": "100% OF_IT"}),
    ("jobs", {"has_error": True}),
    ("jobs", {"search": "akery"}),
    ("jobs", {"created_since": WHEN["since"], "created_until": WHEN["until"]}),
    ("jobs", {"started_since": WHEN["since"], "started_until": WHEN["until"]}),
    ("jobs", {"finished_since": WHEN["since"], "finished_until": WHEN["until"]}),
    ("jobs", {"due_since": WHEN["since"], "due_until": WHEN["until"]}),
    ("domains", {"sitemap_analysis_status": "failed"}),
    ("domains", {"sitemap_curation_status": "Maybe"}),
    ("domains", {"domain": "https://bakery.example/"}),
    ("domains", {"search": "AKER"}),
    ("domains", {"error": "% of_"}),
    ("domains", {"has_warning": True}),
    ("domains", {"created_since": WHEN["since"]}),
    ("domains", {"last_scan_since": WHEN["since"]}),
    ("domains", {"next_scan_until": WHEN["until"]}),
    ("sitemap-files", {"status": ["error", "refused"]}),
    ("sitemap-files", {"sitemap_import_status": "Error"}),
    ("sitemap-files", {"type": "news"}),
    ("sitemap-files", {"discovery_method": "html_link"}),
    ("sitemap-files", {"domain": "bakery.example"}),
    ("sitemap-files", {"error": "100%"}),
    ("sitemap-files", {"search": "bread"}),
    ("sitemap-files", {"created_since": WHEN["since"]}),
    ("sitemap-files", {"last_processed_since": WHEN["since"]}),
    ("pages", {"page_curation_status": "Selected"}),
    ("pages", {"page_type": "contact"}),
    ("pages", {"has_page_type": True}),
    ("pages", {"domain": "bakery.example"}),
    ("pages", {"search": "/bread"}),
    ("pages", {"created_since": WHEN["since"]}),
    ("pages", {"lastmod_since": WHEN["since"]}),
    ("dead-letters", {"stage": "process_sitemap_imports"}),
    ("dead-letters", {"error_class": "Rejected"}),
    ("dead-letters", {"error": "100%"}),
    ("dead-letters", {"text": "OF_IT"}),
    ("dead-letters", {"worker": "host 2"}),
    ("dead-letters", {"died_since": WHEN["since"], "died_until": WHEN["until"]}),
    ("dead-letters", {"first_failed_since": WHEN["since"]}),
    ("dead-letters", {"state": "discarded", "text": "known", "closed_until": WHEN["until"]}),
]


@pytest.mark.usefixtures("two_sites")
async def test_each_filter_finds_its_row_and_no_other(client: httpx.AsyncClient) -> None:
    wrong = {}
    for kind, given in FILTERS:
        answer = await client.get(f"{API}/{kind}", params={**given, "totals": True})
        found = answer.json()
        if answer.status_code != 200 or (len(found["items"]), found["total"]) != (1, 1):
            wrong[kind, json.dumps(given)] = answer.text[:200]

    assert wrong == {}


@pytest.mark.usefixtures("two_sites")
async def test_rows_are_found_by_the_ids_they_carry(client: httpx.AsyncClient) -> None:
    job = (await client.get(f"{API}/jobs", params={"status": "failed"})).json()["items"][0]
    tries = [
        ("jobs", {"domain": job["domain_id"]}),
        ("jobs", {"domain_id": job["domain_id"]}),
        ("domains", {"domain_id": job["domain_id"]}),
        ("pages", {"domain_id": job["domain_id"]}),
        ("sitemap-files", {"job_id": job["job_id"]}),
        ("dead-letters", {"row_id": job["job_id"]}),
    ]
    for kind, given in tries:
        assert len((await client.get(f"{API}/{kind}", params=given)).json()["items"]) == 1, given
        nobody = {name: str(uuid4()) for name in given}
        assert (await client.get(f"{API}/{kind}", params=nobody)).json()["items"] == [], given


@pytest.mark.usefixtures("two_sites")
async def test_an_age_is_counted_back_from_now(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add(a_job("fresh.example"))

    async def subjects(**given: str) -> list[str]:
        items = (await client.get(f"{API}/jobs", params=given)).json()["items"]
        return [job["status"] for job in items]

    assert await subjects(created_since="1h") == ["pending"]
    assert await subjects(created_until="2d") == ["failed", "complete"]


HOSTILE = ["%", "_", "'; DROP TABLE jobs; --", "\\", '"', "%%__", "100%of", "100_", "/%"]


@pytest.mark.usefixtures("two_sites")
@pytest.mark.parametrize("hostile", HOSTILE)
async def test_what_is_looked_for_is_taken_word_for_word(
    client: httpx.AsyncClient, hostile: str
) -> None:
    answer = await client.get(f"{API}/jobs", params={"error": hostile})

    expected = 1 if hostile in "100% of_it" else 0
    assert answer.status_code == 200
    assert len(answer.json()["items"]) == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"error": "a\x00b"}, "error"),
        ({"domain": "\x00"}, "domain"),
        ({"error": ""}, "error"),
        ({"error": "x" * 501}, "error"),
        ({"created_since": "soon"}, "2d"),
        ({"created_since": "99999999999d"}, "2d"),
        ({"created_since": "0001-01-01T00:00:00+14:00"}, "2d"),
        ({"status": "finished"}, "complete"),
        ({"sort": "params"}, "finished_at"),
        ({"domain_id": "7"}, "domain_id"),
        ({"limit": "1001"}, "limit"),
        ({"cursor": "bm90IG91cnM="}, "cursor is not valid"),
        ({"cursor": "é"}, "cursor is not valid"),
        ({"stauts": "failed"}, "unknown parameter stauts; use one of: job_type, status"),
    ],
)
async def test_what_does_not_fit_is_refused_with_what_would(
    client: httpx.AsyncClient, given: dict[str, str], told: str
) -> None:
    answer = await client.get(f"{API}/jobs", params=given)

    assert answer.status_code == 422
    assert told in answer.json()["detail"]


async def test_a_cursor_is_good_for_its_own_list_only(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add_all([a_job(f"{n}.example") for n in range(3)])
    first = await client.get(f"{API}/jobs", params={"limit": 1, "status": "pending"})
    cursor = first.json()["next_cursor"]

    async def status(**given: Any) -> int:
        return (await client.get(f"{API}/jobs", params={"cursor": cursor, **given})).status_code

    assert await status(status="pending") == 200
    assert await status(status="pending", limit=2) == 200
    assert await status() == 422
    assert await status(status=["pending", "failed"]) == 422
    assert await status(status="pending", sort="created_at") == 422


@pytest.fixture
async def tied(database: Database) -> set[str]:
    """Jobs of which many are equal in any column, and some have no value there."""
    jobs = [
        a_job(
            f"{n}.example",
            status=("complete", "failed")[n % 2],
            attempts=n % 3,
            progress=n % 2,
            created_at=NOW + timedelta(hours=n % 4),
            due_at=NOW + timedelta(hours=n % 2),
            started_at=NOW if n % 3 else None,
            finished_at=NOW + timedelta(minutes=n % 4) if n % 3 else None,
        )
        for n in range(30)
    ]
    async with database.transaction() as session:
        session.add_all(jobs)
    return {str(job.id) for job in jobs}


@pytest.mark.parametrize("sort", [f"{way}{name}" for name in JOBS.sorts for way in ("", "-")])
async def test_every_order_leads_to_every_row_once_while_rows_are_added(
    client: httpx.AsyncClient, database: Database, tied: set[str], sort: str
) -> None:
    seen: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        body = (await client.get(f"{API}/jobs", params={"sort": sort, "limit": 4, **cursor})).json()
        seen += body["items"]
        async with database.transaction() as session:
            session.add(a_job(f"late{len(seen)}.example", status="failed", created_at=NOW))
        if body["next_cursor"] is None:
            break
        cursor = {"cursor": body["next_cursor"]}

    ids = [job["job_id"] for job in seen]
    name = sort.removeprefix("-")
    values = [job[name] for job in seen if job["job_id"] in tied and name in job]
    assert len(ids) == len(set(ids))
    assert tied <= set(ids)
    assert values == in_order(values, descending=sort.startswith("-"))


def in_order(values: list[Any], *, descending: bool) -> list[Any]:
    """Rows without a value last upwards, first downwards."""
    there = sorted((each for each in values if each is not None), reverse=descending)
    missing = [None] * (len(values) - len(there))
    return missing + there if descending else there + missing


async def test_a_long_list_is_estimated_and_a_short_one_counted(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "MAX_COUNTED_ROWS", 20)
    async with database.transaction() as session:
        session.add_all([a_job(f"{n}.example", status="failed") for n in range(20)])

    async def total(**given: Any) -> tuple[int | None, str | None]:
        body = (await client.get(f"{API}/jobs", params=given)).json()
        return body["total"], body["total_is"]

    assert await total() == (None, None)
    assert await total(totals=True, limit=3) == (20, "exact")
    assert await total(totals=True, status="complete") == (0, "exact")
    async with database.transaction() as session:
        session.add_all([a_job(f"{n}.example", status="failed") for n in range(20, 50)])
        await session.execute(text("ANALYZE jobs"))
    assert await total(totals=True) == (50, "estimated")


async def test_what_would_be_slow_to_count_is_estimated(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction() as session:
        session.add_all([a_job(f"{n}.example") for n in range(5)])
        await session.execute(text("ANALYZE jobs"))
    monkeypatch.setattr(totals, "MAX_COUNT_COST", 0.0)

    body = (await client.get(f"{API}/jobs", params={"totals": True})).json()

    assert (body["total"], body["total_is"]) == (5, "estimated")


async def test_an_estimated_total_is_never_less_than_the_rows_beside_it(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.transaction() as session:
        await session.execute(text("ANALYZE jobs"))
        session.add_all([a_job(f"{n}.example", status="failed") for n in range(8)])
    monkeypatch.setattr(totals, "MAX_COUNT_COST", 0.0)

    answer = await client.get(f"{API}/jobs?totals=true&limit=7&status=failed")
    body = answer.json()

    assert body["total_is"] == "estimated"
    assert body["total"] >= 8


async def test_rows_of_somebody_else_are_in_no_list_and_no_total(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        tenant = Tenant(name="others")
        session.add(tenant)
        await session.flush()
        user = User(tenant_id=tenant.id, name="stranger", role=Role.ADMIN)
        session.add(user)
        await session.flush()
        theirs = {"tenant_id": tenant.id, "created_by": user.id}
        domain = a_domain("theirs.example", **theirs)
        session.add(domain)
        await session.flush()
        job = a_job("theirs.example", domain, **theirs)
        session.add(job)
        session.add(a_file(domain, "https://theirs.example/sitemap.xml", **theirs))
        session.add(a_page(domain, "https://theirs.example/", **theirs))
        session.add(a_letter(job.id, tenant_id=tenant.id))
        domain_id = str(domain.id)

    for kind in ("jobs", "domains", "sitemap-files", "pages", "dead-letters"):
        for given in ({}, {"domain": "theirs.example"}, {"domain": domain_id}):
            if kind == "dead-letters" and given:
                continue
            body = (await client.get(f"{API}/{kind}", params={"totals": True, **given})).json()
            assert (body["items"], body["total"]) == ([], 0), (kind, given)


async def test_lists_show_status_and_error_of_every_stage(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    shown = {
        Job: "jobs",
        Place: "places",
        LocalBusiness: "local-businesses",
        Domain: "domains",
        SitemapFile: "sitemap-files",
        Page: "pages",
        WebhookDelivery: "webhooks/{webhook_id}/deliveries",
    }
    for stage in STAGES:
        operation = described["paths"][f"{API}/{shown[stage.model]}"]["get"]
        answer = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        items = schema(described, answer)["properties"]["items"]["items"]["$ref"]
        fields = set(schema(described, items)["properties"])
        assert {stage.queue.status.key, stage.queue.error.key} <= fields, stage.name


def schema(described: dict[str, Any], reference: str) -> dict[str, Any]:
    found: dict[str, Any] = described["components"]["schemas"][reference.rpartition("/")[2]]
    return found


async def test_the_description_names_every_parameter(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()["paths"]
    listings = {
        "jobs": JOBS,
        "domains": DOMAINS,
        "sitemap-files": SITEMAP_FILES,
        "pages": PAGES,
        "dead-letters": DEAD_LETTER_LISTING,
    }
    for kind, listing in listings.items():
        parameters = described[f"{API}/{kind}"]["get"]["parameters"]
        named = {each["name"]: each for each in parameters if each["in"] == "query"}
        assert set(named) == set(listing.query_model.model_fields), kind
        assert all(each.get("description") for each in named.values()), kind


# At size


@pytest.fixture
async def many(database: Database) -> Database:
    """A hundred thousand rows in each table, few of them failed."""
    rows = range(100_000)
    async with database.transaction() as session:
        domain = a_domain("big.example")
        session.add(domain)
        await session.flush()
        await session.execute(text(MANY_JOBS), {**OWNED, "count": len(rows)})
        await session.execute(text(MANY_DOMAINS), {**OWNED, "count": len(rows)})
        await session.execute(text(MANY_FILES), {**OWNED, "domain": domain.id, "count": len(rows)})
        await session.execute(text(MANY_PAGES), {**OWNED, "domain": domain.id, "count": len(rows)})
        await session.execute(text(MANY_LETTERS), {**OWNED, "count": len(rows)})
    async with database.transaction() as session:
        for table in ("jobs", "domains", "sitemap_files", "pages", "dead_letters"):
            await session.execute(text(f"ANALYZE {table}"))
    return database


AT = "now() - n * interval '1 second'"
FEW = "CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'complete' END"
MANY_JOBS = f"""
INSERT INTO jobs (id, tenant_id, created_by, job_type, subject, status, created_at)
SELECT gen_random_uuid(), :tenant_id, :created_by, 'sitemap', n || '.example', {FEW}, {AT}
FROM generate_series(1, :count) n"""
MANY_DOMAINS = f"""
INSERT INTO domains (id, tenant_id, created_by, domain, created_at)
SELECT gen_random_uuid(), :tenant_id, :created_by, n || '.example', {AT}
FROM generate_series(1, :count) n"""
MANY_FILES = f"""
INSERT INTO sitemap_files (id, tenant_id, created_by, domain_id, url, url_digest,
    discovery_method, status, created_at)
SELECT gen_random_uuid(), :tenant_id, :created_by, :domain, 'https://big.example/' || n,
    decode(md5(n::text), 'hex'), 'manual', 'ok', {AT}
FROM generate_series(1, :count) n"""
MANY_PAGES = f"""
INSERT INTO pages (id, tenant_id, created_by, domain_id, url, url_digest, path_depth, created_at)
SELECT gen_random_uuid(), :tenant_id, :created_by, :domain, 'https://big.example/' || n,
    decode(md5(n::text), 'hex'), 1, {AT}
FROM generate_series(1, :count) n"""
MANY_LETTERS = f"""
INSERT INTO dead_letters (id, tenant_id, stage, row_id, attempts, error_class, error, worker,
    state, died_at)
SELECT gen_random_uuid(), :tenant_id, 'process_pending_sitemaps', gen_random_uuid(), 5, 'Rejected',
    'No.', 'host 1', CASE WHEN n % 1000 = 0 THEN 'open' ELSE 'replayed' END, {AT}
FROM generate_series(1, :count) n"""


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(each for below in plan.get("Plans", []) for each in nodes(below))]


RARE: list[tuple[Listing, dict[str, Any], str]] = [
    (JOBS, {"status": ["failed"]}, "ix_jobs_failed"),
    (JOBS, {"domain": "big.example"}, "ix_jobs_domain_id"),
    (DOMAINS, {"domain": "7.example"}, "uq_domains_tenant_id_domain"),
    (DEAD_LETTER_LISTING, {"state": ["open"]}, "ix_dead_letters_open_died_at"),
]


async def test_long_lists_are_read_from_indexes(many: Database) -> None:
    async with many.reading() as session:
        for listing in (JOBS, DOMAINS, SITEMAP_FILES, PAGES, DEAD_LETTER_LISTING):
            await assert_read_from_an_index_at_any_depth(session, listing)
        for listing, given, index in RARE:
            order = listing.order(listing.default_sort)
            page = listing.statement(given, SYSTEM).order_by(*order._ordering()).limit(51)
            used = {each.get("Index Name") for each in nodes(await explain(session, page))}
            assert index in used, (listing.name, given)


async def assert_read_from_an_index_at_any_depth(session: AsyncSession, listing: Listing) -> None:
    order = listing.order(listing.default_sort)
    statement = listing.statement(listing.filter_model().get_values(), SYSTEM)
    rows = await order.page(session, statement, None, 50)
    after = order.get_position(rows[-1])
    for part in (*order._build_segments(None), *order._build_segments(after)):
        page = statement.where(*part).order_by(*order._ordering()).limit(51)
        found = nodes(await explain(session, page))
        assert not any(each["Node Type"] == "Seq Scan" for each in found), listing.name
        assert found[0]["Total Cost"] < 1000, listing.name
