"""People add, correct and delete contacts, and the history records it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import func, select

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import (
    BulkAction,
    BulkActionRows,
    Contact,
    ContactEvidence,
    Lead,
    Role,
    Suppression,
)
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.contacts.rows import (
    CONTACTS,
    SITE,
    a_contact,
    a_domain,
    a_page,
    a_sighting,
    bakery,
    stored,
)
from tests.stage_cases import OWNED, SYSTEM_USER_ID

INFO = f"info@{SITE}"
NOBODYS = "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e"


@pytest.fixture
async def site(database: Database) -> UUID:
    return await bakery(database)


@pytest.fixture
async def info(database: Database) -> Contact:
    """The bakery's desk, as a page had it."""
    domain = a_domain()
    page = a_page(domain, "/kontakt")
    contact = a_contact(domain, INFO, page, is_role_address=True, email_type="SERVICE")
    await stored(database, domain, page, contact, a_sighting(contact, page))
    return contact


async def added(client: httpx.AsyncClient, **given: Any) -> httpx.Response:
    wanted = {"domain": SITE, "kind": "email", "value": INFO, **given}
    return await client.post(CONTACTS, json=wanted)


async def lead(database: Database, domain_id: UUID) -> Lead:
    async with database.reading() as session:
        return (await session.scalars(select(Lead).where(Lead.domain_id == domain_id))).one()


async def test_what_a_person_adds_is_sure_and_makes_the_lead(
    client: httpx.AsyncClient, database: Database, site: UUID
) -> None:
    answer = await added(
        client, value=" Anna@Backhaus-Berger.de", name="Anna Berger", role="Owner", note="Met her."
    )

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["value"] == f"anna@{SITE}"
    assert (made["method"], made["confidence"], made["evidence"]) == ("manual", 1.0, [])
    assert (made["name"], made["role"], made["note"]) == ("Anna Berger", "Owner", "Met her.")
    assert (made["email_type"], made["same_site"]) == ("CORPORATE", True)
    assert made["lineage"]["page_id"] is None
    assert (await lead(database, site)).best_email == f"anna@{SITE}"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"kind": "phone", "value": "030 901820"}, "+4930901820"),
        (
            {"kind": "social", "value": "instagram.com/Backhaus"},
            "https://www.instagram.com/backhaus",
        ),
    ],
)
async def test_numbers_and_profiles_can_be_added_too(
    client: httpx.AsyncClient, site: UUID, given: dict[str, str], value: str
) -> None:
    made = (await added(client, **given)).json()

    assert (made["value"], made["email_type"]) == (value, None)


async def test_one_that_is_known_is_answered_with_its_id(
    client: httpx.AsyncClient, info: Contact
) -> None:
    answer = await added(client, value=INFO.upper())

    assert answer.status_code == 409
    assert str(info.id) in answer.json()["detail"]


async def test_two_who_add_the_same_at_once_make_one(
    client: httpx.AsyncClient, database: Database, site: UUID
) -> None:
    answers = await asyncio.gather(*(added(client) for _ in range(5)))

    assert sorted(each.status_code for each in answers) == [201, 409, 409, 409, 409]
    async with database.reading() as session:
        assert await session.scalar(select(func.count(Contact.id))) == 1


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"value": "anna"}, 422, "not an e-mail address"),
    ({"value": "your.name@gmx.de"}, 422, "cannot receive mail"),
    ({"kind": "phone", "value": "12 34"}, 422, "country"),
    ({"kind": "fax"}, 422, "kind"),
    ({"name": "n" * 2_000}, 422, "name"),
    ({"name": "a\x00b"}, 422, "character"),
    ({"name": " "}, 422, "empty"),
    ({"note": "n" * 2_001}, 422, "note"),
    ({"value": "x" * 5_000}, 422, "value"),
    ({"domain": "unknown.de"}, 404, "Import it first"),
    ({"domain": None, "domain_id": NOBODYS}, 404, "There is no domain"),
    ({"domain": None}, 422, "either"),
    ({"domain_id": NOBODYS}, 422, "either"),
    ({"colour": "red"}, 422, "colour"),
]


@pytest.mark.parametrize(("given", "status", "says"), WRONG, ids=lambda each: str(each)[:40])
async def test_what_cannot_be_added_is_told_so(
    client: httpx.AsyncClient, site: UUID, given: dict[str, Any], status: int, says: str
) -> None:
    answer = await added(client, **given)

    assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text


async def test_a_correction_is_kept_and_shown_with_what_was_before(
    client: httpx.AsyncClient, info: Contact
) -> None:
    wanted = {"name": "Anna", "email_type": "CORPORATE", "contact_curation_status": "Selected"}
    edited = (await client.patch(f"{CONTACTS}/{info.id}", json=wanted)).json()
    again = (await client.patch(f"{CONTACTS}/{info.id}", json={"name": None})).json()
    done = (await client.get(f"{CONTACTS}/{info.id}/history")).json()

    assert {name: edited[name] for name in wanted} == wanted
    assert edited["edited_at"] is not None
    assert (again["name"], again["email_type"]) == (None, "CORPORATE")
    assert [each["details"]["changes"] for each in done] == [
        {"name": ["Anna", None]},
        {
            "name": [None, "Anna"],
            "email_type": ["SERVICE", "CORPORATE"],
            "contact_curation_status": ["New", "Selected"],
        },
    ]
    assert {(each["action"], each["via"], each["actor_id"]) for each in done} == {
        ("contact.edit", "api", str(SYSTEM_USER_ID))
    }


async def test_a_decision_alone_does_not_keep_pages_from_naming_it(
    client: httpx.AsyncClient, info: Contact
) -> None:
    wanted = {"contact_curation_status": "Skipped", "note": "No answer."}
    edited = (await client.patch(f"{CONTACTS}/{info.id}", json=wanted)).json()

    assert edited["edited_at"] is None


async def test_a_decision_moves_the_lead(
    client: httpx.AsyncClient, database: Database, info: Contact
) -> None:
    before = (await lead(database, info.domain_id)).best_email
    await client.patch(f"{CONTACTS}/{info.id}", json={"contact_curation_status": "Skipped"})
    after = await lead(database, info.domain_id)

    assert (before, after.best_email, after.contacts) == (INFO, None, 0)
    assert after.why_empty is not None


async def test_a_corrected_value_brings_its_own_facts(
    client: httpx.AsyncClient, info: Contact
) -> None:
    wanted = {"value": "Berger@GMX.de"}
    edited = (await client.patch(f"{CONTACTS}/{info.id}", json=wanted)).json()

    assert (edited["value"], edited["email_type"]) == ("berger@gmx.de", "FREE")
    assert (edited["same_site"], edited["is_role_address"]) == (False, False)
    assert len(edited["evidence"]) == 1


async def test_a_value_cannot_be_corrected_into_another_contact(
    client: httpx.AsyncClient, info: Contact
) -> None:
    other = (await added(client, value=f"anna@{SITE}")).json()
    clash = await client.patch(f"{CONTACTS}/{other['id']}", json={"value": INFO})
    wrong = await client.patch(f"{CONTACTS}/{other['id']}", json={"value": "anna"})

    assert (clash.status_code, wrong.status_code) == (409, 422)


async def test_only_an_address_has_a_type(client: httpx.AsyncClient, site: UUID) -> None:
    number = (await added(client, kind="phone", value="+49 30 901820")).json()
    answer = await client.patch(f"{CONTACTS}/{number['id']}", json={"email_type": "FREE"})

    assert answer.status_code == 422


async def test_of_two_changes_at_once_the_last_wins_and_both_are_known(
    client: httpx.AsyncClient, info: Contact
) -> None:
    names = [f"name {number}" for number in range(4)]
    await asyncio.gather(
        *(client.patch(f"{CONTACTS}/{info.id}", json={"name": name}) for name in names)
    )
    now = (await client.get(f"{CONTACTS}/{info.id}")).json()["name"]
    done = (await client.get(f"{CONTACTS}/{info.id}/history")).json()

    changes = [each["details"]["changes"]["name"] for each in reversed(done)]
    assert sorted(after for _, after in changes) == names
    assert [before for before, _ in changes] == [None, *(after for _, after in changes[:-1])]
    assert changes[-1][1] == now


async def test_who_says_what_they_saw_overwrites_nothing_newer(
    client: httpx.AsyncClient, info: Contact
) -> None:
    path = f"{CONTACTS}/{info.id}"
    seen = (await client.get(path)).json()["updated_at"]
    first = await client.patch(path, json={"name": "Anna", "updated_at": seen})
    second = await client.patch(path, json={"name": "Ann", "updated_at": seen})
    third = await client.patch(path, json={"name": "Ann", "updated_at": first.json()["updated_at"]})

    assert [each.status_code for each in (first, second, third)] == [200, 409, 200]
    assert "Reload it" in second.json()["detail"]


async def test_a_deleted_contact_is_gone_with_its_evidence_but_not_its_history(
    client: httpx.AsyncClient, database: Database, info: Contact
) -> None:
    answer = await client.delete(f"{CONTACTS}/{info.id}")
    gone = await client.get(f"{CONTACTS}/{info.id}")
    done = (await client.get(f"{CONTACTS}/{info.id}/history")).json()

    assert "It returns when a page" in answer.json()["explanation"]
    assert gone.status_code == 404
    assert [each["action"] for each in done] == ["contact.delete"]
    assert (await lead(database, info.domain_id)).best_email is None
    async with database.reading() as session:
        assert await session.scalar(select(func.count(ContactEvidence.id))) == 0
        assert await session.scalar(select(func.count(Suppression.id))) == 0


async def test_a_deleted_contact_can_be_suppressed_with_it(
    client: httpx.AsyncClient, database: Database, info: Contact
) -> None:
    answer = await client.delete(f"{CONTACTS}/{info.id}", params={"suppress": True})
    found_again = a_contact(a_domain(), INFO)
    found_again.domain_id = info.domain_id
    await stored(database, found_again)
    [listed] = (await client.get(CONTACTS)).json()["items"]

    assert answer.json()["suppressed"] is True
    assert listed["suppressed"] is True


async def test_a_profile_is_not_suppressed(
    client: httpx.AsyncClient, database: Database, site: UUID
) -> None:
    made = (await added(client, kind="social", value="instagram.com/backhaus")).json()
    answer = await client.delete(f"{CONTACTS}/{made['id']}", params={"suppress": True})

    assert answer.status_code == 422
    assert (await client.get(f"{CONTACTS}/{made['id']}")).status_code == 200


async def test_decisions_about_many_are_in_the_history(
    client: httpx.AsyncClient, info: Contact
) -> None:
    wanted = {"ids": [str(info.id)], "status": "Selected", "note": "For May."}
    decided = (await client.post(f"{CONTACTS}/curate", json=wanted)).json()
    await client.post("/api/v3/bulk-actions/undo", json={"action_id": decided["action_id"]})
    done = (await client.get(f"{CONTACTS}/{info.id}/history")).json()

    assert [each["action"] for each in done] == ["contact.curate_undone", "contact.curate"]
    assert done[1]["details"] == {
        "bulk_action_id": decided["action_id"],
        "changes": {"contact_curation_status": ["New", "Selected"]},
        "rows": 1,
        "note": "For May.",
    }


async def test_a_history_shows_nothing_of_other_rows(
    client: httpx.AsyncClient, database: Database, info: Contact
) -> None:
    action = BulkAction(
        id=uuid7(), kind="contact", to_status="Selected", updated_count=1, queued_count=0, **OWNED
    )
    rows = BulkActionRows(action_id=action.id, part=1, before_status="New", row_ids=[uuid7()])
    await stored(database, action, rows)

    assert (await client.get(f"{CONTACTS}/{info.id}/history")).json() == []
    assert (await client.get(f"{CONTACTS}/{uuid4()}/history")).status_code == 404


CALLS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("GET", "/history", None),
    ("PATCH", "", {"name": "Mine"}),
    ("DELETE", "", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
async def test_contacts_of_another_tenant_are_not_there(
    url: str, database: Database, info: Contact, method: str, path: str, body: Any
) -> None:
    _, foreign = await add_key(database, await add_tenant(database, "others"))
    async with asking(signed_in_settings(url), foreign) as client:
        answer = await client.request(method, f"{CONTACTS}/{info.id}{path}", json=body)
        adding = await added(client, domain=None, domain_id=str(info.domain_id))

    assert (answer.status_code, adding.status_code) == (404, 404)
    async with database.reading() as session:
        assert (await session.get_one(Contact, info.id)).name is None


async def test_a_reader_may_look_but_not_change(
    url: str, database: Database, info: Contact
) -> None:
    _, secret = await add_key(database, role=Role.VIEWER)
    path = f"{CONTACTS}/{info.id}"
    async with asking(signed_in_settings(url), secret) as client:
        seen = await client.get(path)
        refused = [
            await added(client, value=f"anna@{SITE}"),
            await client.patch(path, json={"name": "Anna"}),
            await client.delete(path),
        ]

    assert seen.status_code == 200
    assert [each.status_code for each in refused] == [403] * 3
