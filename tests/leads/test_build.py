"""A lead is built from the data of its site, with a reason if it is empty."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.leads import build
from scrapersky.leads.backfill import refresh_waiting_leads
from scrapersky.leads.build import refresh_curated_leads, refresh_leads
from scrapersky.leads.ranking import select_best_contacts
from scrapersky.models import (
    BulkAction,
    BulkActionRows,
    Contact,
    Domain,
    Lead,
    Page,
    Suppression,
)
from scrapersky.models.suppression import compute_digest
from scrapersky.scraper.http.urls import url_digest
from tests.conftest import make_settings
from tests.stage_cases import OWNED


def contact(value: str, **more: Any) -> Contact:
    kind = more.pop("kind", "email")
    return Contact(
        id=uuid7(),
        kind=kind,
        value=value,
        **{
            "method": "text",
            "confidence": 0.8,
            "same_site": True,
            "is_role_address": False,
            "sightings": 1,
            "contact_curation_status": "New",
            **more,
        },
    )


@pytest.mark.parametrize(
    "reserved", ["example.com", "example.org", "www.example.net", "shop.example"]
)
def test_an_address_that_is_reserved_for_examples_is_never_the_best(reserved: str) -> None:
    for status in ("New", "Selected"):
        given = contact(f"info@{reserved}", same_site=False, contact_curation_status=status)
        only = select_best_contacts([given], {})
        assert (only.email, only.email_why) == (None, None)
        assert only.other_emails == [given.value]
        both = select_best_contacts([given, contact("b@gmail.com", same_site=False)], {})
        assert both.email == "b@gmail.com"
    own = contact("info@example.com", is_role_address=True)
    assert select_best_contacts([own], {}).email is None


@pytest.mark.parametrize(
    ("contacts", "best"),
    [
        ([contact("a@x.example", same_site=False), contact("b@x.example")], "b@x.example"),
        (
            [contact("a@x.example"), contact("info@x.example", is_role_address=True)],
            "info@x.example",
        ),
        (
            [contact("privacy@x.example", is_role_address=True), contact("b@x.example")],
            "b@x.example",
        ),
        ([contact("a@x.example"), contact("b@x.example", sightings=3)], "b@x.example"),
        ([contact("a@x.example"), contact("b@x.example", confidence=0.9)], "b@x.example"),
        (
            [
                contact("info@x.example", is_role_address=True),
                contact("b@x.example", contact_curation_status="Selected"),
            ],
            "b@x.example",
        ),
    ],
)
def test_the_best_address_is_the_one_to_write_to(contacts: list[Contact], best: str) -> None:
    choice = select_best_contacts(contacts, {})

    assert choice.email == best
    assert choice.email_why
    assert len(choice.other_emails) == len(contacts) - 1


def test_the_number_the_organisation_states_comes_first() -> None:
    phones = [contact("+491", kind="phone", sightings=5), contact("+492", kind="phone")]

    assert select_best_contacts(phones, {}).phone == "+491"
    assert select_best_contacts(phones, {"telephone_e164": "+492"}).phone == "+492"


async def add_domain(database: Database, **more: Any) -> Domain:
    domain = Domain(id=uuid7(), domain=f"{uuid7().hex}.example", **OWNED, **more)
    async with database.transaction() as session:
        session.add(domain)
    return domain


async def add(database: Database, *rows: Any) -> None:
    async with database.transaction() as session:
        for row in rows:
            session.add(row)


def page_of(domain: Domain, path: str, **more: Any) -> Page:
    url = f"https://{domain.domain}{path}"
    return Page(
        id=uuid7(), domain_id=domain.id, url=url, url_digest=url_digest(url), path_depth=1,
        page_type="contact", priority_level=2, **more, **OWNED,
    )  # fmt: skip


def suppression(kind: str, value: str) -> Suppression:
    return Suppression(kind=kind, value=value, digest=compute_digest(value), **OWNED)


async def lead_of(database: Database, domain: Domain) -> Lead:
    async with database.transaction() as session:
        await refresh_leads(session, [domain.id])
    async with database.reading() as session:
        return (await session.scalars(select(Lead).where(Lead.domain_id == domain.id))).one()


@pytest.mark.parametrize(
    ("domain", "pages", "why"),
    [
        ({}, [], "not_read_yet"),
        ({"status": "error", "error": "It did not answer."}, [], "does_not_answer"),
        ({"site_state": "parked"}, [], "parked"),
        ({"site_state": "redirected"}, [], "redirected"),
        ({"site_state": "blocked"}, [], "blocked"),
        ({"site_state": "disallowed"}, [], "robots"),
        ({"site_state": "javascript_only"}, [], "needs_javascript"),
        ({"site_state": "ok", "has_contact_form": True}, [], "only_a_form"),
        ({"site_state": "ok"}, [], "nothing_published"),
        ({"site_state": "ok"}, [{"page_processing_status": "Queued"}], "not_read_yet"),
        ({"site_state": "ok"}, [{"has_contact_form": True}], "only_a_form"),
        ({"site_state": "ok"}, [{"http_status": 403}], "blocked"),
        (
            {"site_state": "ok"},
            [{"page_processing_error": "robots.txt disallows this page."}],
            "robots",
        ),
    ],
)
async def test_an_empty_lead_says_why(
    domain: dict[str, Any], pages: list[dict[str, Any]], why: str, database: Database
) -> None:
    now = datetime.now(UTC)
    if domain.get("site_state"):
        domain = {"status": "completed", "metadata_read_at": now, **domain}
    made = await add_domain(database, **domain)
    done = {"page_processing_status": "Complete"}
    for number, page in enumerate(pages):
        read = {} if page.get("page_processing_status") == "Queued" else {"read_at": now}
        await add(database, page_of(made, f"/{number}", **{**done, **read, **page}))

    lead = await lead_of(database, made)
    assert lead.why_empty == why
    assert lead.why_empty_detail


async def test_what_is_suppressed_is_in_no_lead(database: Database) -> None:
    domain = await add_domain(database)
    await add(
        database,
        contact("a@other.example", domain_id=domain.id, **OWNED),
        contact("b@shop.other.example", domain_id=domain.id, **OWNED),
        contact("c@kept.example", domain_id=domain.id, **OWNED),
        contact("d@kept.example", domain_id=domain.id, **OWNED),
        Suppression(
            kind="domain", value="other.example", digest=compute_digest("other.example"), **OWNED
        ),
        Suppression(
            kind="email", value="d@kept.example", digest=compute_digest("d@kept.example"), **OWNED
        ),
    )

    lead = await lead_of(database, domain)
    assert (lead.best_email, lead.other_emails, lead.contacts) == ("c@kept.example", [], 1)


async def test_what_people_decided_about_a_lead_stays(database: Database) -> None:
    domain = await add_domain(database)
    await lead_of(database, domain)
    async with database.transaction() as session:
        (await session.scalars(select(Lead))).one().lead_curation_status = "Selected"
    await add(database, contact("a@x.example", domain_id=domain.id, **OWNED))

    lead = await lead_of(database, domain)
    assert (lead.lead_curation_status, lead.best_email) == ("Selected", "a@x.example")


async def test_a_lead_is_made_once_however_many_make_it_at_once(database: Database) -> None:
    domain = await add_domain(database)
    await asyncio.gather(*(lead_of(database, domain) for _ in range(8)))

    async with database.reading() as session:
        assert len((await session.scalars(select(Lead))).all()) == 1


async def test_a_lead_that_waits_for_pages_nobody_reads_any_more_is_looked_at_again(
    url: str, database: Database
) -> None:
    domain = await add_domain(
        database, status="completed", site_state="ok", metadata_read_at=datetime.now(UTC)
    )
    page = page_of(domain, "/kontakt", page_processing_status="Queued")
    await add(database, page)
    assert (await lead_of(database, domain)).why_empty == "not_read_yet"
    settings = make_settings(url)
    assert await refresh_waiting_leads(database, settings) == 0

    async with database.transaction() as session:
        (await session.scalars(select(Page))).one().page_processing_status = "Error"
    assert await refresh_waiting_leads(database, settings) == 1

    async with database.reading() as session:
        assert (await session.scalars(select(Lead.why_empty))).one() == "nothing_published"


async def decide_to_skip(database: Database, *contacts: Contact) -> None:
    ids = [each.id for each in contacts]
    action = uuid7()
    async with database.transaction() as session:
        await session.execute(
            update(Contact).where(Contact.id.in_(ids)).values(contact_curation_status="Skipped")
        )
        counts = {"updated_count": len(ids), "queued_count": 0}
        session.add(BulkAction(id=action, kind="contact", to_status="Skipped", **counts, **OWNED))
        await session.flush()
        session.add(BulkActionRows(action_id=action, part=1, before_status="New", row_ids=ids))
        await session.flush()
        await refresh_curated_leads(session, action)


@pytest.mark.parametrize("few", [500, 0])
async def test_contacts_that_were_sorted_out_together_leave_their_leads_sooner_or_later(
    few: int, url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = await add_domain(database, status="completed", metadata_read_at=datetime.now(UTC))
    wrong = contact("a@x.example", domain_id=domain.id, **OWNED)
    await add(database, wrong, contact("b@x.example", domain_id=domain.id, **OWNED))
    assert (await lead_of(database, domain)).contacts == 2
    monkeypatch.setattr(build, "LEAD_BATCH_SIZE", few)

    await decide_to_skip(database, wrong)
    monkeypatch.undo()
    assert await refresh_waiting_leads(database, make_settings(url)) == (0 if few else 1)

    async with database.reading() as session:
        assert (await session.scalars(select(Lead.best_email))).one() == "b@x.example"
