"""Rows for every kind of table."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, BulkAction, CostEntry, Job, Lead, Suppression
from scrapersky.models.stage_names import PAGE_STAGE
from scrapersky.pipeline.tables import DeadLetter
from tests.contacts.rows import a_contact, a_domain, a_file, a_page, store
from tests.dashboard.business_rows import a_business, a_place, may_be_one, told_by
from tests.stage_cases import OWNED

HOSTILE = '<script>document.title="taken"</script><img src=x onerror=alert(1)>\u202e' + "W" * 10_000


def a_lead(name: str | None, **more: Any) -> Lead:
    return Lead(id=uuid7(), name=name, **{**OWNED, **more})


async def add_leads(database: Database, count: int, **more: Any) -> list[Lead]:
    """The last one is the newest, and so the first of the table."""
    leads = []
    for number in range(count):
        leads.append(a_lead(f"Business {number:03}", **more))
        async with database.transaction() as session:
            session.add(leads[-1])
    return leads


async def one_of_each(database: Database) -> None:
    domain = a_domain("bakery.example", status="error", error="The name does not resolve.")
    page = a_page(
        domain, "/kontakt", page_processing_status="Error", page_processing_error="It timed out."
    )
    file = a_file(domain)
    contact = a_contact(domain, "info@bakery.example", page)
    # A search is a job, too: it stands in both tables.
    job = Job(
        id=uuid7(), job_type="place_search", subject="bakeries in leipzig, 200 at most",
        params={"business_type": "bakeries", "location": "Leipzig", "provider": "google"},
        status="failed", **OWNED,
    )  # fmt: skip
    entry = CostEntry(
        id=uuid7(), tenant_id=DEFAULT_TENANT_ID, provider="google", sku="text_search.enterprise",
        month=date(2026, 11, 1), usd=Decimal("0.035"), is_free=False, search_id=job.id,
    )  # fmt: skip
    letter = DeadLetter(
        id=uuid7(), tenant_id=DEFAULT_TENANT_ID, stage=PAGE_STAGE, row_id=page.id, attempts=3,
        error_class="TimeoutError", error="It timed out.", worker="here:1",
    )  # fmt: skip
    hushed = Suppression(
        id=uuid7(), kind="email", value="no@example.com", digest=b"x" * 32, **OWNED
    )
    action = BulkAction(
        id=uuid7(), kind="lead", to_status="Archived", updated_count=2, queued_count=0,
        details={"filter": {"category": ["Bakery"]}}, **OWNED,
    )  # fmt: skip
    place = a_place("Bakery", deep_scan_status="Error", deep_scan_error="It timed out.")
    pair = (a_business("Bakery", place_id=place.id), a_business("Bakery, once more"))
    async with database.transaction() as session:
        await store(session, domain, page, file, contact, job, entry, letter, hushed, action)
        await store(session, a_lead("Bakery", best_email="info@bakery.example", contacts=1))
        await store(session, place, *pair, told_by(place, pair[0]), may_be_one(*pair))


def rows_of(kind: str) -> int:
    """How many rows that makes in a table: a pair is of two."""
    return 2 if kind == "local-businesses" else 1
