"""The audit log records every change and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select, update

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, MergeCandidate, Role
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.auth.api_calls import calls
from tests.auth.tenant_rows import add_belongings

AUDIT, SCAN = "/api/v3/audit", "/api/v3/sitemap/scan"


async def noted(database: Database) -> Sequence[AuditEntry]:
    async with database.reading() as session:
        return (await session.scalars(select(AuditEntry).order_by(AuditEntry.id))).all()


async def fresh(database: Database, route: str) -> dict[str, str]:
    """Rows that a call can be about, with nothing noted yet."""
    status = "pending" if route.endswith("/cancel") else "failed"
    async with database.transaction() as session:
        made = await add_belongings(session, SYSTEM, job_status=status)
        if route.endswith("/reopen"):
            await session.execute(update(MergeCandidate).values(state="apart"))
        await session.execute(delete(AuditEntry))
    return made


OF_A_SESSION = ("/api/v3/session", "/api/v3/sessions")
"""What only somebody can ask for who signed in: see `test_sessions`."""


async def test_every_call_that_changes_something_is_noted(url: str, database: Database) -> None:
    key_id, admin = await add_key(database)
    async with database.transaction() as session:
        known = await add_belongings(session, SYSTEM)
    async with asking(signed_in_settings(url), admin) as client:
        app = client.app  # type: ignore[attr-defined]
        routes = list(calls(app, known))
        walked = [
            number
            for number, each in enumerate(routes)
            if each.changes and not each.path.startswith(OF_A_SESSION)
        ]
        for number in walked:
            made = await fresh(database, routes[number].route)
            call = list(calls(app, made))[number]
            answer = await call.sent(client)
            said = f"{call.method} {call.path} {call.body}: {answer.text}"
            assert answer.is_success, f"Say in tests/accounts how this succeeds. {said}"
            entries = await noted(database)
            assert entries, f"Nothing was noted of it. {said}"
            for entry in entries:
                assert entry.request_id == answer.headers["x-request-id"], said
                assert (entry.actor_id, entry.api_key_id) == (SYSTEM.user_id, key_id)
                assert (entry.tenant_id, entry.via) == (SYSTEM.tenant_id, "api")

    assert len(walked) > 15


async def test_an_act_is_told_in_the_words_of_what_it_is_about(
    url: str, database: Database
) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        job_id = (await client.post(SCAN, json={"base_url": "example.com"})).json()["job_id"]
        await client.post(f"/api/v3/jobs/{job_id}/cancel")
        entries = (await client.get(AUDIT, params={"limit": 2})).json()["items"]

    cancelled, scanned = entries
    assert cancelled["action"] == "job.cancel"
    assert (cancelled["subject_kind"], cancelled["subject_id"]) == ("job", job_id)
    assert scanned["action"] == "sitemap.scan"
    assert scanned["details"] == {"domain": "example.com", "already_active": False}


async def test_what_was_refused_is_not_noted(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    before = len(await noted(database))
    async with asking(signed_in_settings(url), admin) as client:
        refused = await client.post(SCAN, json={"base_url": "two words"})

    assert refused.status_code == 422
    assert len(await noted(database)) == before


async def test_looking_is_not_noted(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    before = len(await noted(database))
    async with asking(signed_in_settings(url), admin) as client:
        for path in ("jobs", "domains", "users", "api-keys", "audit"):
            assert (await client.get(f"/api/v3/{path}")).status_code == 200

    assert len(await noted(database)) == before


async def test_the_log_is_narrowed_by_actor_action_and_time(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:

        async def found(**params: str) -> set[str]:
            items = (await client.get(AUDIT, params=params)).json()["items"]
            return {each["action"] for each in items}

        await client.post("/api/v3/users", json={"name": "alice"})
        await client.post(SCAN, json={"base_url": "example.com"})
        [scan] = (await client.get(AUDIT, params={"action": "sitemap.scan"})).json()["items"]

        assert await found(action="user.create") == {"user.create"}
        assert await found(actor=str(SYSTEM.user_id)) >= {"user.create", "sitemap.scan"}
        assert await found(actor=scan["subject_id"]) == set()
        assert await found(since=scan["at"]) == {"sitemap.scan"}
        assert await found(since="2100-01-01T00:00:00") == set()


async def test_the_log_pages_newest_first(url: str, database: Database) -> None:
    _, admin = await add_key(database)
    async with asking(signed_in_settings(url), admin) as client:
        for number in range(5):
            await client.post("/api/v3/users", json={"name": f"user {number}"})
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            params = {"limit": "2", "action": "user.create", **cursor}
            page = (await client.get(AUDIT, params=params)).json()
            seen += [each["details"]["name"] for each in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        wrong = [
            (await client.get(AUDIT, params={"cursor": each})).status_code
            for each in ("x", "~1", "2026-01-01~", "2026-01-01~x", "\0")
        ]

    assert seen == [f"user {number}" for number in (4, 3, 2, 1, 0)]
    assert wrong == [422] * 5


async def test_the_log_is_for_admins_and_of_their_own_tenant(url: str, database: Database) -> None:
    other = await add_tenant(database, "other")
    _, curator = await add_key(database, role=Role.CURATOR)
    _, foreign = await add_key(database, other)
    async with asking(signed_in_settings(url), curator) as client:
        refused = await client.get(AUDIT)
        client.headers["Authorization"] = f"Bearer {foreign}"
        seen = (await client.get(AUDIT)).json()["items"]

    assert refused.status_code == 403
    assert {each["action"] for each in seen} == {"user.create", "api_key.create"}
