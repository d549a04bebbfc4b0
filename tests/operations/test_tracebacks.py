"""Tracebacks reveal files of the machine, so only operators may read them."""

from __future__ import annotations

from uuid import UUID

import pytest

from scrapersky.db.base import uuid7
from scrapersky.db.session import Database
from scrapersky.models import Actor, Role
from scrapersky.pipeline.tables import DeadLetter
from tests.auth.accounts import SYSTEM, add_key, add_tenant, add_user, asking, signed_in_settings

TRACEBACK = 'Traceback:\n  File "/opt/scrapersky/inside.py", line 7'
LETTERS = "/api/v3/dead-letters"


async def add_letter(database: Database, tenant_id: UUID) -> UUID:
    letter = DeadLetter(
        id=uuid7(),
        tenant_id=tenant_id,
        stage="process_pending_sitemaps",
        row_id=uuid7(),
        attempts=5,
        error_class="ValueError",
        error="It broke.",
        traceback=TRACEBACK,
        worker="host:1",
    )
    async with database.transaction() as session:
        session.add(letter)
    return letter.id


async def reader_of(database: Database, *, operator: bool, role: Role) -> Actor:
    owner = SYSTEM if operator else await add_tenant(database, "acme")
    return await add_user(database, "reader", role=role, actor=owner)


@pytest.mark.parametrize(
    ("operator", "role", "can_read"),
    [
        (True, Role.ADMIN, True),
        (True, Role.CURATOR, True),
        (True, Role.VIEWER, False),
        (False, Role.ADMIN, False),
        (False, Role.VIEWER, False),
    ],
)
async def test_a_traceback_is_shown_to_operators_only(
    url: str, database: Database, operator: bool, role: Role, can_read: bool
) -> None:
    reader = await reader_of(database, operator=operator, role=role)
    letter_id = await add_letter(database, reader.tenant_id)
    _, secret = await add_key(database, reader, role=role)

    async with asking(signed_in_settings(url), secret) as client:
        answer = await client.get(f"{LETTERS}/{letter_id}")
        page = await client.get(f"/dead-letters/{letter_id}")

    assert answer.json()["error"] == "It broke."
    assert answer.json()["traceback"] == (TRACEBACK if can_read else None)
    assert page.status_code == 200
    assert "It broke." in page.text
    assert ("inside.py" in page.text) == can_read


async def test_a_traceback_cannot_be_guessed_by_searching(url: str, database: Database) -> None:
    reader = await reader_of(database, operator=False, role=Role.VIEWER)
    await add_letter(database, reader.tenant_id)
    _, secret = await add_key(database, reader, role=Role.VIEWER)

    async with asking(signed_in_settings(url), secret) as client:
        by_error = await client.get(LETTERS, params={"text": "broke"})
        by_traceback = await client.get(LETTERS, params={"text": "inside.py"})

    assert len(by_error.json()["items"]) == 1
    assert by_traceback.json()["items"] == []
