"""`tenant`, `user`, `api-key` and `audit`."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from scrapersky.auth.passwords import verify_password
from scrapersky.models import DEFAULT_TENANT_ID, ApiKey, AuditEntry, User
from scrapersky.models.accounts import hash_key
from tests.cli.conftest import Invoke, from_database
from tests.stage_cases import SYSTEM_USER_ID

SITEMAPS = "process_pending_sitemaps"


def listed(invoke: Invoke, *command: str) -> list[dict[str, Any]]:
    said = invoke(*command, "--json")
    assert said.code == 0, said
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


@pytest.fixture
def acme(invoke: Invoke) -> str:
    """A tenant with an admin."""
    tenant_id = invoke("tenant", "create", "acme").out.strip()
    made = invoke("user", "create", "--tenant", "acme", "--name", "alice", "--role", "admin")
    assert made.code == 0, made
    return tenant_id


def test_a_tenant_is_set_up_from_nothing(invoke: Invoke, url: str, acme: str) -> None:
    made = invoke("api-key", "create", "--tenant", "acme", "--user", "alice", "--name", "laptop")

    [key] = from_database(url, select(ApiKey))
    [alice] = listed(invoke, "user", "list", "--tenant", acme)
    assert made.code == 0, made
    assert key.key_hash == hash_key(made.out.strip())
    assert (str(key.tenant_id), str(key.user_id)) == (acme, alice["id"])
    assert [each["name"] for each in listed(invoke, "tenant", "list")] == ["default", "acme"]


def test_a_key_in_another_tenant_needs_somebody_to_belong_to(invoke: Invoke, acme: str) -> None:
    said = invoke("api-key", "create", "--tenant", "acme", "--name", "laptop")

    assert said.code == 1
    assert "in this tenant" in said.err


@pytest.mark.parametrize("name", ["", "acme", str(DEFAULT_TENANT_ID)])
def test_a_tenant_has_a_name_of_its_own(invoke: Invoke, acme: str, name: str) -> None:
    assert invoke("tenant", "create", name).code != 0


def test_a_tenant_that_is_not_there_is_said_so(invoke: Invoke) -> None:
    said = invoke("user", "list", "--tenant", "nobody")

    assert (said.code, "There is no tenant nobody" in said.err) == (1, True)


def test_a_user_is_promoted_deactivated_and_let_in_again(invoke: Invoke, url: str) -> None:
    invoke("user", "create", "--name", "bob")
    [bob] = from_database(url, select(User).where(User.name == "bob"))

    assert invoke("user", "set-role", "bob", "curator").code == 0
    assert invoke("user", "deactivate", str(bob.id)).code == 0
    [_, deactivated] = listed(invoke, "user", "list")
    assert invoke("user", "reactivate", "bob").code == 0
    [_, again] = listed(invoke, "user", "list")

    assert deactivated["role"] == "curator"
    assert deactivated["deactivated_at"] is not None
    assert again["deactivated_at"] is None
    assert "bob" in invoke("user", "list").out
    assert invoke("user", "deactivate", "system").code == 1


def test_a_key_is_rotated(invoke: Invoke, url: str) -> None:
    old = invoke("api-key", "create", "--name", "x", "--expires", "2100-01-01").out.strip()
    [key] = from_database(url, select(ApiKey))

    new = invoke("api-key", "rotate", str(key.id), "--grace-seconds", "60")

    [rotated] = from_database(url, select(ApiKey))
    assert rotated.key_hash == hash_key(new.out.strip())
    assert rotated.previous_hash == hash_key(old)
    assert "The old secret stays valid until" in new.err
    assert rotated.expires_at.year == 2100
    assert rotated.prefix in invoke("api-key", "list").out


CHANGES: dict[str, list[str]] = {
    "tenant.create": ["tenant", "create", "second"],
    "user.create": ["user", "create", "--name", "bob"],
    "user.set_role": ["user", "set-role", "carol", "curator"],
    "user.deactivate": ["user", "deactivate", "carol"],
    "user.reactivate": ["user", "reactivate", "carol"],
    "api_key.create": ["api-key", "create", "--name", "x"],
    "job.cancel": ["job", "cancel", "JOB"],
    "stage.pause": ["stage", "pause", SITEMAPS],
    "stage.resume": ["stage", "resume", SITEMAPS],
    "stage.run": ["stage", "run", "process_sitemap_imports"],
}


@pytest.mark.parametrize("action", CHANGES)
def test_what_is_done_here_is_noted_as_done_here(
    invoke: Invoke, url: str, asked: UUID, action: str
) -> None:
    invoke("user", "create", "--name", "carol")
    before = len(from_database(url, select(AuditEntry.id)))

    said = invoke(*(str(asked) if each == "JOB" else each for each in CHANGES[action]))

    assert said.code == 0, said
    [newest] = listed(invoke, "audit", "--limit", "1")
    assert newest["action"] == action
    assert (newest["via"], newest["actor_id"]) == ("cli", str(SYSTEM_USER_ID))
    assert len(from_database(url, select(AuditEntry.id))) == before + 1


def test_a_command_whose_service_notes_nothing_is_noted_all_the_same(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapersky.operations.service.record", lambda *_, **__: None)

    invoke("stage", "pause", SITEMAPS)

    assert [each["action"] for each in listed(invoke, "audit")] == ["stage._set_paused"]


def test_looking_is_not_noted(invoke: Invoke) -> None:
    for command in (["job", "list"], ["user", "list"], ["stage", "list"], ["api-key", "list"]):
        assert invoke(*command).code == 0

    assert invoke("audit").out == "No audit log entries.\n"


def test_the_log_is_narrowed(invoke: Invoke, acme: str) -> None:
    invoke("user", "create", "--name", "bob")

    assert len(listed(invoke, "audit", "--action", "user.create")) == 1
    assert len(listed(invoke, "audit", "--actor", "system")) == 2
    assert len(listed(invoke, "audit", "--actor", "bob")) == 0
    assert len(listed(invoke, "audit", "--since", "2100-01-01")) == 0
    [in_acme] = listed(invoke, "audit", "--tenant", "acme")
    assert in_acme["details"] == {"name": "alice", "role": "admin"}
    assert "user.create" in invoke("audit").out


def test_a_password_is_read_from_standard_input(
    invoke: Invoke, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    invoke("user", "create", "--name", "bob")
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    refused = invoke("user", "password", "bob")
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))
    given = invoke("user", "password", "bob")

    [bob] = from_database(url, select(User).where(User.name == "bob"))
    assert (refused.code, given.code) == (2, 0), given
    assert "at least 12 characters" in refused.err
    assert "correct horse" not in given.out + given.err
    assert asyncio.run(verify_password("correct horse battery", bob.password_hash))
