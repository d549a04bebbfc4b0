"""`contacts`, `contact`, `leads`, `lead` and `suppression`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Contact, Lead, Suppression
from tests.cli.conftest import Invoke, from_database
from tests.contacts.rows import SITE, a_contact, a_domain, a_page, a_sighting, stored

INFO, ANNA = f"info@{SITE}", f"anna@{SITE}"


@pytest.fixture
def info(url: str) -> str:
    """The bakery's desk, found on a page; its id."""
    domain = a_domain(title="Backhaus Berger")
    page = a_page(domain, "/kontakt")
    contact = a_contact(domain, INFO, page, is_role_address=True, email_type="SERVICE")

    async def make() -> None:
        database = Database(url, pool_size=2)
        await stored(database, domain, page, contact, a_sighting(contact, page, snippet="Write!"))
        await database.close()

    asyncio.run(make())
    return str(contact.id)


def listed(invoke: Invoke, *command: str) -> list[dict[str, Any]]:
    said = invoke(*command, "--json")
    assert said.code == 0, said
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


def test_contacts_are_listed_and_narrowed(invoke: Invoke, info: str) -> None:
    assert [each["value"] for each in listed(invoke, "contacts")] == [INFO]
    assert listed(invoke, "contacts", "--kind", "phone") == []
    assert len(listed(invoke, "contacts", "--domain", SITE, "--type", "SERVICE")) == 1
    assert len(listed(invoke, "contacts", "--status", "New", "--min-confidence", "0.9")) == 1
    assert listed(invoke, "contacts", "--suppressed") == []
    assert len(listed(invoke, "contacts", "--not-suppressed", "--sort", "-value")) == 1
    assert INFO in invoke("contacts").out
    assert invoke("contacts", "--search", "nobody").out == "No contacts.\n"
    assert invoke("contacts", "--sort", "colour").code == 2


def test_one_contact_is_shown_with_its_evidence_and_history(invoke: Invoke, info: str) -> None:
    invoke("contact", "edit", info, "--name", "Anna Berger")
    said = invoke("contact", "show", info)

    assert said.code == 0, said
    for word in (INFO, f"https://{SITE}/kontakt", "Write!", "contact.edit", "Anna Berger"):
        assert word in said.out
    assert json.loads(invoke("contact", "show", info, "--json").out)["name"] == "Anna Berger"


def test_a_contact_is_added_corrected_and_deleted(invoke: Invoke, url: str, info: str) -> None:
    made = invoke("contact", "add", SITE, ANNA, "--name", "Anna", "--role", "Owner")
    anna = made.out.strip()
    edited = invoke("contact", "edit", anna, "--status", "Selected", "--clear", "role")
    [row] = from_database(url, select(Contact).where(Contact.value == ANNA))
    deleted = invoke("contact", "delete", anna, "--suppress")

    assert (made.code, edited.code, deleted.code) == (0, 0, 0), (made, edited, deleted)
    assert (str(row.id), row.name, row.role) == (anna, "Anna", None)
    assert row.contact_curation_status == "Selected"
    assert from_database(url, select(Contact.value)) == [INFO]
    assert from_database(url, select(Suppression.value)) == [ANNA]


@pytest.mark.parametrize(
    "command",
    [
        ["contact", "add", SITE, "anna@"],
        ["contact", "add", "unknown.de", ANNA],
        ["contact", "add", SITE, "12345"],
        ["contact", "add", SITE, ANNA, "--name", "n" * 2_000],
        ["contact", "add", SITE, INFO],
        ["contact", "edit", "INFO", "--value", "nonsense"],
        ["contact", "show", "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e"],
        ["contact", "erase", "anna", "--yes"],
        ["contact", "erase", ANNA],
        ["suppression", "import", "/not/there"],
    ],
)
def test_what_cannot_be_is_told_so(invoke: Invoke, url: str, info: str, command: list[str]) -> None:
    said = invoke(*(info if each == "INFO" else each for each in command))

    assert said.code in (1, 2), said
    assert said.err.startswith("Error:")
    assert from_database(url, select(Contact.value)) == [INFO]
    assert from_database(url, select(Suppression.id)) == []


def test_a_person_is_erased(invoke: Invoke, url: str, info: str) -> None:
    said = invoke("contact", "erase", INFO.upper(), "--yes")
    again = invoke("contact", "erase", INFO, "--yes", "--json")

    assert said.code == 0, said
    assert "1 contact with 1 sighting erased." in said.out
    assert json.loads(again.out)["contacts"] == 0
    assert from_database(url, select(Contact.id)) == []
    assert from_database(url, select(Suppression.value)) == [None]
    assert from_database(url, select(Lead.best_email)) == [None]
    assert all(INFO not in str(each) for each in from_database(url, select(AuditEntry.details)))


def test_leads_are_narrowed_by_whatever_the_api_narrows_them_by(invoke: Invoke, info: str) -> None:
    def count(*options: str) -> int:
        return len(listed(invoke, "leads", *options))

    assert (count("--has-website"), count("--no-website")) == (1, 0)
    assert (count("--status", "New"), count("--lead-curation-status", "Archived")) == (1, 0)
    assert (count("--newer-than", "1d"), count("--created-until", "1d")) == (1, 0)
    assert count("--min-rating", "4.5") == 0
    assert count("--search-id", "01890f6e-7c2b-7d5a-8c3e-4f5a6b7c8d9e") == 0
    assert count("--why-empty", "parked", "--why-empty", "robots") == 0
    for wrong in (("--min-rating", "9"), ("--domain-id", "berger"), ("--updated-since", "soon")):
        said = invoke("leads", *wrong)
        assert (said.code, "is invalid" in said.err) == (2, True), said


def test_leads_are_listed_shown_and_decided_about(invoke: Invoke, info: str) -> None:
    [lead] = listed(invoke, "leads", "--has-email", "--name", "backhaus")
    shown = invoke("lead", "show", lead["id"])
    decided = invoke("lead", "set-status", lead["id"], "Maybe")

    assert (lead["best_email"], lead["name"]) == (INFO, "Backhaus Berger")
    assert listed(invoke, "leads", "--no-email") == []
    assert (shown.code, INFO in shown.out, "Only address found" in shown.out) == (0, True, True)
    assert (decided.code, "is Maybe" in decided.err) == (0, True)
    assert len(listed(invoke, "leads", "--status", "Maybe", "--sort", "name")) == 1
    assert INFO in invoke("leads").out
    assert invoke("leads", "--why-empty", "parked").out == "No leads.\n"


def test_people_are_suppressed_and_let_back(invoke: Invoke, url: str, info: str) -> None:
    said = invoke("suppression", "add", INFO, "nonsense", "--reason", "Asked us to stop.")
    [kept] = listed(invoke, "suppression", "list")
    hushed = from_database(url, select(Lead.best_email))
    removed = invoke("suppression", "remove", kept["id"])

    assert (said.code, said.out) == (3, "1 suppression added, 1 refused.\n")
    assert "nonsense: " in said.err
    assert (kept["value"], kept["reason"]) == (INFO, "Asked us to stop.")
    assert (hushed, removed.code) == ([None], 0)
    assert from_database(url, select(Lead.best_email)) == [INFO]
    assert invoke("suppression", "list").out == "No suppressions.\n"


def test_a_list_of_people_is_imported(invoke: Invoke, url: str, info: str, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    file.write_text(f"# asked us to stop\n{INFO}\n\n@acme.com\n+49 30 901820\n{INFO}\n")
    said = invoke("suppression", "import", str(file))

    assert (said.code, said.out) == (0, "3 suppressions added, 1 already listed.\n")
    assert set(from_database(url, select(Suppression.kind))) == {"email", "domain", "phone"}
    assert "suppressed" in invoke("contacts").out
