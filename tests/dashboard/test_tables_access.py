"""Access to tables: the role decides which actions are offered, the tenant which rows are shown."""

from __future__ import annotations

from scrapersky.dashboard.views.routes import TABLES
from scrapersky.db.session import Database
from scrapersky.models import Role
from tests.app import serving
from tests.auth.accounts import SYSTEM, add_key, add_tenant, asking, signed_in_settings
from tests.auth.dashboard_clients import add_person, sign_in
from tests.dashboard.table_pages import MOST_QUERIES, counting, page
from tests.dashboard.table_rows import one_of_each, rows_of

OFFERED = ("data-act", "data-row-act", 'id="bulk"', 'href="/import', 'data-opens="adding"')


async def test_who_only_looks_is_offered_nothing_that_changes_rows(
    url: str, database: Database
) -> None:
    await one_of_each(database)
    _, viewers = await add_key(database, SYSTEM, role=Role.VIEWER)
    async with asking(signed_in_settings(url), viewers) as client:
        for each in TABLES:
            html = await page(client, f"/{each.kind}")
            assert html.count("<tr data-id=") == rows_of(each.kind)
            assert [word for word in OFFERED if word in html] == []
        assert (await client.get("/import")).status_code == 403


async def test_another_tenant_sees_none_of_the_rows(url: str, database: Database) -> None:
    await one_of_each(database)
    _, theirs = await add_key(database, await add_tenant(database, "Others"))
    async with asking(signed_in_settings(url), theirs) as client:
        for each in TABLES:
            html = await page(client, f"/{each.kind}")
            assert "<tr data-id=" not in html
            assert each.nothing.sentence.split(":")[0] in html


async def test_who_is_not_signed_in_is_led_there_and_back(url: str) -> None:
    async with serving(signed_in_settings(url)) as client:
        answer = await client.get("/leads?category=Bakery&sort=name")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fleads%3Fcategory%3DBakery%26sort%3Dname"


async def test_a_person_who_is_signed_in_costs_few_queries_too(
    url: str, database: Database
) -> None:
    await one_of_each(database)
    await add_person(database, "alice")
    async with serving(signed_in_settings(url)) as client:
        assert (await sign_in(client)).is_success
        for address in ("/contacts", "/pages?sort=-lastmod", "/bulk-actions?sort=-undone_at"):
            with counting(client.app.state.context.database) as said:  # type: ignore[attr-defined]
                assert "<tr data-id=" in await page(client, address)
            assert 1 <= len(said) <= MOST_QUERIES, said
