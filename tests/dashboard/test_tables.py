"""Tables as rendered by the server: one declaration each, with their whole state in the URL."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from sqlalchemy import text

from scrapersky.dashboard.views.leads import LEADS_TABLE
from scrapersky.dashboard.views.routes import TABLES
from scrapersky.db.session import Database
from scrapersky.kinds import CURATIONS
from scrapersky.leads.build import refresh_leads
from scrapersky.lists import listing
from tests.app import serving
from tests.conftest import make_settings
from tests.contacts.rows import a_contact, a_domain, a_page, store
from tests.dashboard.table_pages import (
    MOST_BYTES,
    MOST_QUERIES,
    Links,
    asked,
    counting,
    names,
    page,
)
from tests.dashboard.table_rows import HOSTILE, a_lead, add_leads, one_of_each, rows_of

KINDS = [each.kind for each in TABLES]


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


@pytest.mark.parametrize("kind", KINDS)
async def test_a_table_without_rows_says_what_to_do(client: httpx.AsyncClient, kind: str) -> None:
    html = await page(client, f"/{kind}")
    table = next(each for each in TABLES if each.kind == kind)
    assert table.nothing.sentence.split(":")[0] in html
    assert table.nothing.link in html


@pytest.mark.parametrize("kind", KINDS)
async def test_a_table_shows_its_rows_with_few_queries_and_little_weight(
    client: httpx.AsyncClient, database: Database, kind: str
) -> None:
    await one_of_each(database)
    columns = ",".join(each.name for each in next(t for t in TABLES if t.kind == kind).columns)
    with counting(client.app.state.context.database) as said:  # type: ignore[attr-defined]
        html = await page(client, f"/{kind}?columns={columns}")
    assert html.count("<tr data-id=") == rows_of(kind)
    assert 1 <= len(said) <= MOST_QUERIES, said
    assert len(html) < MOST_BYTES


@pytest.mark.parametrize("table", TABLES, ids=KINDS)
async def test_every_heading_sorts_and_every_filter_can_be_added(
    client: httpx.AsyncClient, database: Database, table: object
) -> None:
    await one_of_each(database)
    kind = table.kind  # type: ignore[attr-defined]
    links = Links(await page(client, f"/{kind}")).found
    mine = {href for href in links.values() if href.startswith(f"/{kind}?")}
    assert any("sort=" in href for href in mine)
    for href in mine:
        assert (await client.get(href)).status_code == 200, href


def test_whatever_people_decide_about_has_a_table_that_offers_the_decisions() -> None:
    assert {each.kind for each in TABLES if each.curation} == {each.rows for each in CURATIONS}
    offered = {each.label for each in LEADS_TABLE.all_acts}
    assert offered == {"New", "Selected", "Maybe", "Not a Fit", "Archived"}


async def test_the_whole_view_is_in_the_address(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 3, category="Bakery")
    await add_leads(database, 2, category="Bank")
    address = "/leads?category=Bakery&sort=name&limit=2&columns=name,category"
    html = await page(client, address)
    assert names(html) == ["Business 000", "Business 001"]
    assert "3 leads" in html
    links = Links(html).found
    following = links["Next page"]
    assert asked(following)["category"] == ["Bakery"]
    assert asked(following)["columns"] == ["name,category"]
    second = await page(client, following)
    assert names(second) == ["Business 002"]
    assert asked(Links(second).found["First page"]) == asked(address)
    assert asked(links["Remove filter Category"]).get("category") is None


async def test_a_heading_tells_how_the_table_is_sorted_and_turns_it_round(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 2)
    html = await page(client, "/leads")
    assert 'aria-sort="descending"><a href="/leads?sort=created_at">Added' in html
    once = await page(client, Links(html).found["Name"])
    assert 'aria-sort="ascending"><a href="/leads?sort=-name">Name' in once
    assert names(once) == ["Business 000", "Business 001"]


async def test_a_total_is_exact_up_to_its_bound_and_then_says_that_there_are_more(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MAX_COUNTED_ROWS", 3)
    await add_leads(database, 3)
    assert total_of(await page(client, "/leads?limit=2")) == "3 leads"
    await add_leads(database, 1)
    assert total_of(await page(client, "/leads?limit=2")) == "3+ leads"
    assert total_of(await page(client, "/leads")) == "4 leads"  # all of them are on the page
    assert total_of(await page(client, "/leads?search=Business 002")) == "1 lead"


@pytest.mark.parametrize("believed", [1, 1_000_000])
async def test_a_total_never_contradicts_the_rows_whatever_the_planner_believes(
    client: httpx.AsyncClient, database: Database, believed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_leads(database, 5)
    async with database.transaction() as session:
        await session.execute(
            text("UPDATE pg_class SET reltuples = :rows WHERE relname = 'leads'"),
            {"rows": believed},
        )
    assert total_of(await page(client, "/leads?limit=2")) == "5 leads"
    monkeypatch.setattr(listing, "MAX_COUNT_COST", 0)
    first = await page(client, "/leads?limit=2")
    assert total_of(first) == "2+ leads"
    assert total_of(await page(client, "/leads?limit=5")) == "5 leads"
    second = await page(client, Links(first).found["Next page"])
    assert total_of(second) == "2+ leads"


def total_of(html: str) -> str:
    found = re.search(r'<strong id="total"[^>]*>([^<]*)</strong>', html)
    assert found
    return found[1]


async def test_the_rows_alone_are_the_rows_of_the_page(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 2)
    whole, part = await page(client, "/leads"), await page(client, "/leads?part=rows")
    assert part.strip() in whole
    assert "<html" not in part
    assert "part=rows" not in part


async def test_a_filter_that_matches_nothing_says_so_and_can_be_cleared(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 1)
    html = await page(client, "/leads?search=nowhere&sort=name")
    assert "Nothing matches" in html
    assert Links(html).found["Clear filters"] == "/leads?sort=name"


async def test_fields_left_empty_ask_for_nothing_and_unknown_ones_are_told(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 1)
    assert names(await page(client, "/leads?search=&created_since=")) == ["Business 000"]
    answer = await client.get("/leads?colour=red")
    assert answer.status_code == 422
    assert "unknown parameter colour" in answer.text
    assert names(answer.text) == ["Business 000"]


@pytest.mark.parametrize(
    ("invalid", "said"),
    [
        ("min_rating=many", "min_rating"),
        ("lead_curation_status=Bogus", "lead_curation_status"),
        ("created_since=yesterday", "created_since"),
        ("sort=colour", "sort"),
        ("limit=0", "limit"),
        ("cursor=x", "cursor is not valid"),
        ("search=" + "x" * 501, "search"),
        ("colour=red&size=9&has_email=perhaps", "colour"),
        ("part=everything", "part"),
    ],
)
async def test_a_value_that_is_not_valid_keeps_the_page_with_its_other_filters(
    client: httpx.AsyncClient, database: Database, invalid: str, said: str
) -> None:
    await add_leads(database, 3, category="Bakery")
    await add_leads(database, 1, category="Bank")
    answer = await client.get(f"/leads?category=Bakery&{invalid}")
    assert answer.status_code == 422
    html = answer.text
    assert len(names(html)) == 3
    assert total_of(html) == "3 leads"
    assert "isn&#39;t valid" in html or "isn't valid" in html
    assert said in html
    assert "Category: <strong><bdi>Bakery</bdi>" in html
    first_value = invalid.split("&", 1)[0]
    assert first_value not in " ".join(Links(html).found.values())


async def test_of_several_values_of_a_filter_the_valid_ones_stay(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 1, lead_curation_status="Maybe")
    await add_leads(database, 2)
    answer = await client.get("/leads?lead_curation_status=Maybe&lead_curation_status=Bogus")
    assert total_of(answer.text) == "1 lead"
    assert "lead_curation_status=Bogus" not in answer.text


async def test_acting_on_all_rows_is_not_offered_while_a_filter_is_ignored(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 3)
    assert 'data-more="yes"' in await page(client, "/leads?limit=2")
    assert 'data-more=""' in (await client.get("/leads?limit=2&colour=red")).text


async def test_spans_of_time_and_words_in_force_stand_on_chips(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 1)
    html = await page(
        client, "/leads?created_since=7d&has_email=false&lead_curation_status=Not a Fit"
    )
    for said in (
        "Added since: <strong>7 d ago",
        "Has e-mail: <strong>no",
        "<bdi>Not a Fit</bdi>",
    ):
        assert said in html


async def test_dead_letters_are_the_open_ones_until_all_are_asked_for(
    client: httpx.AsyncClient, database: Database
) -> None:
    await one_of_each(database)
    html = await page(client, "/dead-letters")
    assert "State: <strong><bdi>open</bdi>" in html
    every = Links(html).found["All"]
    assert asked(every)["state"] == ["open", "replayed", "discarded"]
    assert "Nothing matches" in await page(client, "/dead-letters?state=discarded")


async def test_what_failed_says_why_and_offers_to_try_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    await one_of_each(database)
    html = await page(client, "/pages")
    assert "It timed out." in html
    assert 'data-many="/stages/process_page_curation_queue/rows/requeue"' in html
    for kind in ("domains", "jobs", "dead-letters"):
        assert "data-row-act" in await page(client, f"/{kind}")


async def test_hostile_texts_are_shown_inert_and_short(
    client: httpx.AsyncClient, database: Database
) -> None:
    texts = dict.fromkeys(("name", "category", "address", "phone", "best_email"), HOSTILE)
    website = "javascript:alert(1)//" + HOSTILE
    async with database.transaction() as session:
        for _ in range(50):
            session.add(a_lead(**texts, website=website, contacts=1))
    html = await page(client, "/leads")
    assert "<script>document" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert len(html) < MOST_BYTES


async def test_a_view_with_a_hostile_filter_is_inert(client: httpx.AsyncClient) -> None:
    html = await page(client, "/leads?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in html


async def test_a_contact_that_is_suppressed_says_so_in_its_row(
    client: httpx.AsyncClient, database: Database
) -> None:
    domain = a_domain("bakery.example")
    shown = a_page(domain, "/kontakt")
    async with database.transaction() as session:
        await store(session, domain, shown, a_contact(domain, "no@bakery.example", shown))
        await refresh_leads(session, {domain.id})
    assert "do not contact</span>" not in await page(client, "/contacts")
    await client.post("/api/v3/suppressions", json={"items": [{"value": "no@bakery.example"}]})
    assert "do not contact</span>" in await page(client, "/contacts")


async def test_the_export_form_asks_for_what_the_table_shows(
    client: httpx.AsyncClient, database: Database
) -> None:
    await add_leads(database, 1)
    html = await page(client, "/leads?category=Bakery&sort=name&limit=25&columns=name")
    form = html[html.index("data-export>") : html.index("</dialog>")]
    assert '<input type="hidden" name="category" value="Bakery">' in form
    assert '<input type="hidden" name="sort" value="name">' in form
    assert 'name="limit"' not in form
    assert form.count("data-column") > 15


async def test_the_import_page_begins_with_the_kind_it_was_asked_for(
    client: httpx.AsyncClient,
) -> None:
    html = await page(client, "/import?kind=pages")
    assert 'value="pages" data-example="https://example.com/contact" required checked' in html
    assert html.count("checked") == 1
