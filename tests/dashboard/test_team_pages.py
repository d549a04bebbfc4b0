"""Sign-in, users, keys, the audit log and the account page as rendered by the server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import event

from scrapersky.dashboard.rendering import STATIC_DIR
from scrapersky.dashboard.views.account import sanitize_next_path
from scrapersky.db.session import Database
from scrapersky.models import Role, User, record
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, add_user, signed_in_settings
from tests.auth.dashboard_clients import COOKIE, add_person, sign_in
from tests.conftest import make_settings

PAGES = ("/users", "/api-keys", "/audit-log", "/account")
HOSTILE = "<script>alert(1)</script>\u202e" + "x" * 150
MOST_BYTES, MOST_QUERIES = 150_000, 8


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(signed_in_settings(url)) as made:
        yield made


@pytest.mark.parametrize("path", PAGES)
async def test_a_stranger_is_led_to_sign_in_and_back(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(f"{path}?a=b")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/sign-in?next=%2F{path[1:]}%3Fa%3Db"


async def test_the_sign_in_page_is_for_everybody(client: httpx.AsyncClient) -> None:
    fresh = await client.get("/sign-in", params={"next": "/jobs?a=b", "tenant": '"><b>'})
    expired = await client.get("/sign-in?expired=1")
    made_up = await client.get("/sign-in", headers={"Cookie": f"{COOKIE}=made-up"})

    assert [each.status_code for each in (fresh, expired, made_up)] == [200] * 3
    assert 'data-next="/jobs?a=b"' in fresh.text
    assert '"><b>' not in fresh.text
    assert "Your session has expired" not in fresh.text
    assert "Your session has expired" in expired.text
    assert "default-src 'self'" in fresh.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("wanted", "goes_to"),
    [
        ("/jobs", "/jobs"),
        ("/jobs/1?a=%2F%2Fevil#b", "/jobs/1?a=%2F%2Fevil#b"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("\\\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/\n/evil.example", "/"),
        ("\t//evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("evil.example", "/"),
        ("/jobs\\..\\", "/"),
        ("/jobs\x00", "/"),
        ("/jobs\u2028", "/"),
        ("/sign-in", "/"),
        ("/sign-in?next=/sign-in", "/"),
    ],
)
def test_one_goes_on_to_our_own_paths_only(wanted: str, goes_to: str) -> None:
    assert sanitize_next_path(wanted) == goes_to


async def test_whoever_is_signed_in_goes_on(client: httpx.AsyncClient, database: Database) -> None:
    await add_person(database, "alice")
    await sign_in(client)
    answer = await client.get("/sign-in?next=//evil.example")

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_open_mode_has_no_sign_in(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        answer = await client.get("/sign-in?next=/jobs")
        account = await client.get("/account")
        users = await client.get("/users")

    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    assert "Open mode: there is no sign-in" in account.text
    assert users.status_code == 200


@pytest.mark.parametrize("role", [Role.VIEWER, Role.CURATOR])
async def test_users_keys_and_the_log_are_for_admins(
    client: httpx.AsyncClient, database: Database, role: Role
) -> None:
    await add_person(database, "alice", role=role)
    await sign_in(client)
    answers = {path: await client.get(path) for path in PAGES}

    assert {path: each.status_code for path, each in answers.items()} == {
        "/users": 403,
        "/api-keys": 403,
        "/audit-log": 403,
        "/account": 200,
    }
    for path in ("/users", "/api-keys", "/audit-log"):
        assert f'href="{path}"' not in answers["/account"].text


async def test_what_one_may_not_do_is_not_offered(
    client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice")
    bob = await add_user(database, "bob")
    await sign_in(client)
    shown = (await client.get("/users")).text

    assert f'id="role-{bob.user_id}"' in shown
    assert f'id="state-{bob.user_id}"' in shown
    for act in ("role", "state", "password"):
        assert f'id="{act}-{alice.user_id}"' not in shown
    assert f'id="state-{SYSTEM.user_id}"' not in shown


async def test_nothing_of_another_tenant_is_shown(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    other = await add_tenant(database, "other")
    await add_user(database, "somebody elses", actor=other)
    await add_key(database, other)
    await sign_in(client)
    shown = [(await client.get(path)).text for path in PAGES]

    assert not any("somebody elses" in each or "admin of other" in each for each in shown)
    assert "No keys yet" in shown[1]


async def test_hostile_names_are_shown_inert(client: httpx.AsyncClient, database: Database) -> None:
    """They cannot be made here; tokens bring any name."""
    await add_person(database, "alice")
    async with database.transaction() as session:
        session.add(User(tenant_id=SYSTEM.tenant_id, issuer="<i>", name=HOSTILE, role=Role.VIEWER))
        record(session, SYSTEM, "user.create", HOSTILE, name=HOSTILE)
    await sign_in(client)
    for path in ("/users", "/audit-log", "/api-keys"):
        shown = (await client.get(path)).text
        assert "<script>alert" not in shown
        assert "&lt;script&gt;alert" in shown or path == "/api-keys"


async def test_the_log_is_narrowed_and_paged(client: httpx.AsyncClient, database: Database) -> None:
    alice = await add_person(database, "alice")
    await sign_in(client)
    async with database.transaction() as session:
        for number in range(150):
            record(session, alice, "job.cancel", f"job number {number}")

    async def rows(**asked: str) -> int:
        answer = await client.get("/audit-log", params=asked)
        assert answer.status_code == 200
        return answer.text.count("job number")

    first = await client.get("/audit-log", params={"what": "job.cancel"})
    following = first.text.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    second = await client.get("/audit-log" + following.replace("&amp;", "&"))

    assert first.text.count("job number") == 100
    assert second.text.count("job number") == 50
    assert 'rel="next"' not in second.text
    assert await rows(who=str(alice.user_id), what="job.cancel") == 100
    assert await rows(who=str(SYSTEM.user_id)) == 0
    assert await rows(what="user.create") == 0
    assert await rows(since="2100-01-01T00:00:00Z") == 0
    assert await rows(until="2020-01-01T00:00:00Z") == 0


@pytest.mark.parametrize(
    "asked",
    [
        {"who": "nobody"},
        {"since": "yesterday", "until": "0001-01-01T00:00:00+14:00"},
        {"what": "a\x00b"},
    ],
)
async def test_what_cannot_be_asked_of_the_log_is_left_out(
    client: httpx.AsyncClient, database: Database, asked: dict[str, str]
) -> None:
    await add_person(database, "alice")
    await sign_in(client)
    answer = await client.get("/audit-log", params=asked)

    assert answer.status_code == 200
    assert "session.begin" in answer.text


async def test_a_cursor_of_somebody_elses_making_is_told_on_a_page(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_person(database, "alice")
    await sign_in(client)
    for path in ("/users", "/api-keys", "/audit-log"):
        answer = await client.get(path, params={"cursor": "x"})
        assert answer.status_code == 422
        assert "cursor is not valid" in answer.text
        assert answer.headers["content-type"].startswith("text/html")


async def test_full_pages_are_light_and_ask_little(
    client: httpx.AsyncClient, database: Database
) -> None:
    alice = await add_person(database, "alice")
    for number in range(60):
        await add_user(database, f"user {number} with a rather long name to know them by")
        await add_key(database, alice)
    async with database.transaction() as session:
        for number in range(120):
            record(session, alice, "job.cancel", number_of(number), note="x" * 500, more="y" * 90)
    await sign_in(client)
    asked: list[str] = []
    engine = client.app.state.context.database.engine.sync_engine  # type: ignore[attr-defined]
    event.listen(engine, "before_cursor_execute", lambda *each: asked.append(each[2]))
    for path in PAGES:
        asked.clear()
        answer = await client.get(path)
        assert answer.status_code == 200
        assert len(answer.content) < MOST_BYTES, path
        assert len(asked) <= MOST_QUERIES, (path, asked)


def number_of(number: int) -> str:
    return f"01890f6e-7c2b-7d5a-8c3e-{number:012d}"


def test_scripts_use_no_markup_from_data() -> None:
    folder = STATIC_DIR / "js"
    for path in [*folder.glob("team*.js"), folder / "sign-in.js"]:
        assert "innerHTML =" not in path.read_text()
        assert "console." not in path.read_text()


async def test_where_nothing_is_people_get_a_page_and_programs_a_problem(
    client: httpx.AsyncClient,
) -> None:
    page = await client.get("/nowhere", headers={"Accept": "text/html,*/*"})
    problem = await client.get("/nowhere")
    of_the_api = await client.get("/api/v3/nowhere", headers={"Accept": "text/html"})

    assert [each.status_code for each in (page, problem, of_the_api)] == [404, 404, 404]
    assert "There is no page at /nowhere." in page.text
    assert page.headers["content-type"].startswith("text/html")
    for each in (problem, of_the_api):
        assert each.headers["content-type"] == "application/problem+json"
