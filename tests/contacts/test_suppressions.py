"""Suppressed values are removed from leads, and return when the suppression is lifted."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Lead, Role, Suppression
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.contacts.rows import CONTACTS, SITE, SUPPRESSIONS, a_contact, a_domain, stored

ANNA, INFO, NUMBER = f"anna@mail.{SITE}", f"info@{SITE}", "+4930901820"


@pytest.fixture
async def site(database: Database) -> UUID:
    """A bakery with two addresses and a number."""
    domain = a_domain()
    contacts = [
        a_contact(domain, INFO, is_role_address=True),
        a_contact(domain, ANNA),
        a_contact(domain, NUMBER, kind="phone"),
    ]
    await stored(database, domain, *contacts)
    return domain.id


async def suppressed(client: httpx.AsyncClient, *values: str, **more: Any) -> dict[str, Any]:
    items = [{"value": each, **more} for each in values]
    answer = await client.post(SUPPRESSIONS, json={"items": items})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def lead(database: Database, site: UUID) -> tuple[str | None, str | None, int]:
    async with database.reading() as session:
        found = (await session.scalars(select(Lead).where(Lead.domain_id == site))).one()
    return found.best_email, found.phone, found.contacts


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (INFO.upper(), (ANNA, NUMBER, 2)),
        ("+49 30 901820", (INFO, None, 2)),
        (f"@mail.{SITE}", (INFO, NUMBER, 2)),
        (f"https://www.{SITE}/", (None, None, 0)),
        ("gmx.de", (INFO, NUMBER, 3)),
    ],
)
async def test_what_is_suppressed_is_in_no_lead_until_it_is_lifted(
    client: httpx.AsyncClient, database: Database, site: UUID, value: str, left: Any
) -> None:
    before = await lead(database, site)

    done = await suppressed(client, value)
    hushed = await lead(database, site)
    await client.delete(f"{SUPPRESSIONS}/{done['lines'][0]['id']}")

    assert (before, hushed, await lead(database, site)) == ((INFO, NUMBER, 3), left, before)


async def test_each_line_is_answered_and_good_ones_are_kept(client: httpx.AsyncClient) -> None:
    first = await suppressed(
        client, INFO, "nonsense", INFO.upper(), "co.uk", "030 901820", "acme.com"
    )
    second = await suppressed(client, INFO)

    assert [each["outcome"] for each in first["lines"]] == [
        "added",
        "refused",
        "already_there",
        "refused",
        "refused",
        "added",
    ]
    assert (first["added"], first["already_there"], first["refused"]) == (2, 1, 3)
    assert first["lines"][0]["id"] == first["lines"][2]["id"] == second["lines"][0]["id"]
    assert [each["given"] for each in first["lines"] if not each["error"]] == [
        INFO,
        INFO.upper(),
        "acme.com",
    ]


async def test_a_list_longer_than_one_statement_is_taken_whole(
    client: httpx.AsyncClient, database: Database
) -> None:
    done = await suppressed(client, *(f"person{number}@acme.com" for number in range(2_500)))

    assert done["added"] == 2_500
    assert len({each["id"] for each in done["lines"]}) == 2_500
    async with database.reading() as session:
        assert await session.scalar(select(func.count(Suppression.id))) == 2_500
        [noted] = await session.scalars(
            select(AuditEntry).where(AuditEntry.action == "suppression.add")
        )
    assert noted.details == {"added": 2_500}


async def test_two_lists_at_once_are_both_kept(
    client: httpx.AsyncClient, database: Database
) -> None:
    names = [f"person{number}@acme.com" for number in range(300)]
    done = await asyncio.gather(suppressed(client, *names), suppressed(client, *reversed(names)))

    assert sum(each["added"] for each in done) == 300
    assert sum(each["refused"] for each in done) == 0


async def test_the_list_is_narrowed_and_says_why(client: httpx.AsyncClient) -> None:
    await suppressed(client, INFO, reason="Asked us to stop.")
    await suppressed(client, "acme.com")

    async def found(**params: str) -> list[Any]:
        return [
            (each["value"], each["reason"])
            for each in (await client.get(SUPPRESSIONS, params=params)).json()["items"]
        ]

    assert await found() == [("acme.com", None), (INFO, "Asked us to stop.")]
    assert await found(kind="domain") == [("acme.com", None)]
    assert await found(search="STOP") == await found(value=INFO) == [(INFO, "Asked us to stop.")]


@pytest.mark.parametrize(
    "items", [[], [{}], [{"value": ""}], [{"value": "x" * 2_000}], [{"value": INFO, "kind": "fax"}]]
)
async def test_what_does_not_fit_is_refused_whole(
    client: httpx.AsyncClient, items: list[dict[str, str]]
) -> None:
    assert (await client.post(SUPPRESSIONS, json={"items": items})).status_code == 422


async def test_a_value_of_another_kind_than_it_is_said_to_be_is_refused(
    client: httpx.AsyncClient,
) -> None:
    done = await suppressed(client, INFO, kind="phone")

    assert done["refused"] == 1
    assert "country" in done["lines"][0]["error"]


async def test_one_tenants_list_is_not_anothers(url: str, database: Database, site: UUID) -> None:
    _, mine = await add_key(database)
    _, foreign = await add_key(database, await add_tenant(database, "others"))
    async with asking(signed_in_settings(url), foreign) as client:
        theirs = await suppressed(client, INFO)
        client.headers["Authorization"] = f"Bearer {mine}"
        seen = (await client.get(SUPPRESSIONS)).json()["items"]
        contacts = (await client.get(CONTACTS, params={"suppressed": True})).json()["items"]
        lifted = await client.delete(f"{SUPPRESSIONS}/{theirs['lines'][0]['id']}")

    assert (seen, contacts, lifted.status_code) == ([], [], 404)


async def test_who_was_erased_is_let_back_by_an_admin_only(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    _, curator = await add_key(database, role=Role.CURATOR)
    async with asking(signed_in_settings(url), admin) as client:
        erased = (await client.post(f"{CONTACTS}/erase", json={"email": INFO})).json()
        path = f"{SUPPRESSIONS}/{erased['suppression_id']}"
        client.headers["Authorization"] = f"Bearer {curator}"
        refused = await client.delete(path)
        client.headers["Authorization"] = f"Bearer {admin}"
        lifted = await client.delete(path)

    assert (refused.status_code, lifted.status_code) == (403, 200)
    assert lifted.json()["value"] is None


async def test_a_reader_suppresses_nobody(url: str, database: Database) -> None:
    _, secret = await add_key(database, SYSTEM, role=Role.VIEWER)
    async with asking(signed_in_settings(url), secret) as client:
        refused = await client.post(SUPPRESSIONS, json={"items": [{"value": INFO}]})
        seen = await client.get(SUPPRESSIONS)

    assert (refused.status_code, seen.status_code) == (403, 200)
