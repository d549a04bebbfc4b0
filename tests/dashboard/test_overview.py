"""The front page: correct figures, problem messages, few queries."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import event, func, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.overview import page as keeping
from scrapersky.dashboard.overview import stages, totals
from scrapersky.db.session import Database
from scrapersky.models import Domain, Job, Role
from scrapersky.models.stage_names import METADATA_STAGE, SITEMAP_STAGE, SUBMISSION_STAGE
from scrapersky.pipeline.tables import (
    Alert,
    ChoreFailure,
    DeadLetter,
    Host,
    StageControl,
    StageEvent,
    Worker,
)
from scrapersky.stages import STAGES
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import a_contact, a_domain, a_file, a_page, stored
from tests.stage_cases import CASES, OWNED

HOUR = timedelta(hours=1)
MOST_QUERIES = 15
"""Two of them judge the alert rules, so that Overview and Alerts agree."""
CALM = "Nothing needs your attention."
Step = Callable[[AsyncSession], Awaitable[None]]


@pytest.fixture(autouse=True)
def _as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is kept, and what a test notes as an alert is not judged anew meanwhile."""
    monkeypatch.setattr(keeping, "TTL_FACTOR", 0.0)
    monkeypatch.setattr("scrapersky.stages.MONITORING_CHORES", ())


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


async def shown(client: httpx.AsyncClient, **params: str) -> str:
    answer = await client.get("/", params=params)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < 150_000
    return answer.text


def number_of(page: str, link: str) -> str:
    """What a figure says that leads there."""
    found = re.search(rf'<a id="[^"]*" href="{re.escape(link)}">([^<]*)</a>', page)
    assert found, f"nothing leads to {link}"
    return found[1]


def total_of(page: str, title: str) -> str:
    found = re.search(rf">{title}</a></dt>\s*<dd class=\"number\">(.*?)</dd>", page, re.DOTALL)
    assert found, f"there is no total of {title}"
    return re.sub(r"<[^>]*>", "", found[1]).strip()


# What stands there


async def test_with_nothing_stored_the_page_leads_to_the_first_scan(
    client: httpx.AsyncClient, database: Database
) -> None:
    page = await shown(client)
    assert "Get your first contacts" in page
    assert 'id="start"' in page
    assert 'href="/import"' in page
    assert "scrapersky demo" in page

    await stored(database, a_domain(status="completed"))
    page = await shown(client)
    assert "Get your first contacts" not in page
    assert CALM in page


async def test_each_stage_stands_there_in_order_with_its_figures(
    client: httpx.AsyncClient, database: Database
) -> None:
    await stored(
        database,
        a_domain("waits.example", status="pending"),
        a_domain("waits-too.example", status="pending"),
        a_domain("read.example", status="completed"),
        a_domain("broken.example", status="error"),
        a_domain("at-work.example", status="processing", sitemap_analysis_status="queued"),
    )
    async with database.transaction() as session:
        session.add(StageEvent(stage=METADATA_STAGE, kind="completed", rows=1_234))
        session.add(StageEvent(stage=METADATA_STAGE, kind="skipped", rows=1))
        session.add(StageEvent(stage=METADATA_STAGE, kind="retried", rows=7))
        session.add(
            StageEvent(stage=METADATA_STAGE, kind="completed", rows=50, at=func.now() - 2 * HOUR)
        )
        session.add(StageControl(stage=SUBMISSION_STAGE, paused=True))

    page = await shown(client)
    places = [page.index(f'id="stage-{each.name}"') for each in STAGES]
    assert places == sorted(places)
    words = {"pending": "2", "processing": "1", "completed": "1", "error": "1"}
    for word, count in words.items():
        assert number_of(page, f"/domains?status={word}") == count
    assert number_of(page, "/domains?sitemap_analysis_status=queued") == "1"
    assert number_of(page, "/jobs?status=pending&amp;job_type=sitemap") == "0"
    assert re.search(r"<dt>Last hour</dt><dd class=\"number\">1,235</dd>", page)
    assert len(re.findall(r">paused</span>", page)) == 1


async def test_totals_count_what_is_stored(client: httpx.AsyncClient, database: Database) -> None:
    bakery, mill = a_domain("bakery.example"), a_domain("mill.example")
    page = a_page(bakery, "/kontakt")
    mail = a_contact(bakery, "info@bakery.example", page)
    await stored(database, bakery, mill, a_file(bakery), page, mail)

    said = await shown(client)
    counts = {each.title: total_of(said, each.title) for each in totals.COUNTED_KINDS}
    assert counts == {
        "Domains": "2",
        "Businesses": "0",
        "Sitemaps": "1",
        "Sitemap URLs": "0",
        "Pages": "1",
        "Contacts": "1",
        "Leads": "2",
        "Leads with e-mail": "1",
    }


async def test_figures_of_large_tables_are_said_to_be_estimates(
    client: httpx.AsyncClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(database, *(a_domain(f"site{n}.example", status="completed") for n in range(40)))
    monkeypatch.setattr(stages, "MAX_EXACT_ROWS", 10)
    monkeypatch.setattr(totals, "MAX_EXACT_ROWS", 10)
    assert total_of(await shown(client), "Domains") == "more than 10"

    async with database.transaction() as session:
        await session.execute(text("ANALYZE domains"))
    page = await shown(client)
    assert total_of(page, "Domains") == "about 40"
    assert re.search(r"<small>about</small>.*?completed\">40</a>", page)
    assert total_of(page, "Pages") == "0"


async def test_the_newest_domains_tell_how_far_they_have_come(
    client: httpx.AsyncClient, database: Database
) -> None:
    bakery = a_domain("bakery.example", status="completed", site_state="ok")
    page = a_page(
        bakery,
        "/kontakt",
        page_type="contact_root",
        priority_level=1,
        page_processing_status="Queued",
    )
    other = a_page(bakery, "/imprint", page_type="legal_root", priority_level=1, read_at=func.now())
    mail = a_contact(bakery, "info@bakery.example", page)
    await stored(database, bakery, page, other, mail)

    said = await shown(client)
    assert f'href="/domains/{bakery.id}"' in said
    assert "1 of 2 read" in said
    assert "info@bakery.example" in said
    assert "data-complete" not in said


@pytest.mark.parametrize(
    ("site_state", "home"),
    [
        ("ok", "done"),
        ("redirected", "done"),
        ("dead", "failed"),
        ("blocked", "failed"),
        ("parked", "none"),
    ],
)
async def test_only_a_site_that_answers_has_a_tick(
    client: httpx.AsyncClient, database: Database, site_state: str, home: str
) -> None:
    site = a_domain("mill.example", status="completed", site_state=site_state)
    await stored(database, site)
    said = await shown(client)
    assert f'<li class="step {home}"><span class="what">Home page</span>' in said


async def test_a_dead_site_has_no_tick_whatever_was_found_before(
    client: httpx.AsyncClient, database: Database
) -> None:
    site = a_domain("mill.example", status="completed", site_state="dead", total_sitemaps=2)
    page = a_page(site, "/imprint", page_type="legal_root", priority_level=1, read_at=func.now())
    await stored(database, site, page, a_contact(site, "info@mill.example", page))
    assert '<li class="step done">' not in await shown(client)
    table = (await client.get("/domains")).text
    assert '<span class="badge good">completed</span>' not in table
    detail = (await client.get(f"/domains/{site.id}")).text
    assert '<span class="badge good">completed</span> <strong>Home page' not in detail


# Needs attention


def adding(*rows: Any) -> Step:
    async def step(session: AsyncSession) -> None:
        session.add_all(rows)

    return step


def worker(**state: Any) -> Step:
    seen = Worker(
        hostname="mill", boot_id="boot", pid=7, pid_start=1, version="0",
        stages={SUBMISSION_STAGE: state},
    )  # fmt: skip
    return adding(seen)


def full_disk(hostname: str) -> Step:
    vitals = {"disk_free_bytes": 1024}
    seen = Worker(
        hostname=hostname, boot_id="boot", pid=7, pid_start=1, version="0", stages={}, vitals=vitals
    )
    return adding(seen)


async def a_due_domain(session: AsyncSession) -> None:
    await CASES[SUBMISSION_STAGE].make_due(session, 1)


async def held_by_nobody(session: AsyncSession) -> None:
    await a_due_domain(session)
    await session.flush()
    ours = update(Domain).where(Domain.sitemap_analysis_status == "queued")
    await session.execute(ours.values(sitemap_analysis_status="processing"))


async def due_for_hours(session: AsyncSession) -> None:
    await a_due_domain(session)
    await session.flush()
    await session.execute(update(Domain).values(sitemap_analysis_due_at=func.now() - 9 * HOUR))


async def paused_for_hours(session: AsyncSession) -> None:
    await a_due_domain(session)
    session.add(StageControl(stage=SUBMISSION_STAGE, paused=True, updated_at=func.now() - 9 * HOUR))


async def lost_sitemaps(session: AsyncSession) -> None:
    session.add(
        a_domain("lost.example", status="completed", scan_warning="The previous scan found 7 URLs.")
    )


async def letters(session: AsyncSession) -> None:
    for each in await CASES[SITEMAP_STAGE].make_due(session, 2):
        session.add(
            DeadLetter(
                stage=SITEMAP_STAGE, row_id=each, attempts=5, error_class="E", error="e", worker="w"
            )
        )


STAGE_PATH = f"/stages/{SUBMISSION_STAGE}"
WRONG: dict[str, tuple[Step, str, str]] = {
    "no consumer": (a_due_domain, "Rows are due (1) and no consumer runs this stage.", STAGE_PATH),
    "waits too long": (due_for_hours, "The oldest claimable row has waited", STAGE_PATH),
    "paused for long": (paused_for_hours, "It has been paused for 540 minutes", STAGE_PATH),
    "stopped": (worker(last_tick=1.0), "No consumer has ticked since 1970", STAGE_PATH),
    "stuck": (held_by_nobody, "1 row is stuck in processing", STAGE_PATH),
    "failing runs": (
        worker(last_tick=4e9, error="OSError: no <b>luck</b>"),
        "The last run failed on mill:7: OSError: no &lt;b&gt;luck",
        STAGE_PATH,
    ),
    "a failing chore": (
        adding(ChoreFailure(name="delete_old_rows", error="OSError: no luck")),
        "The last run of delete_old_rows failed: OSError: no luck",
        "/alerts",
    ),
    "a job of no stage": (
        adding(Job(job_type="sitemaps", subject="bakery.example", **OWNED)),
        "that no stage handles: &#39;sitemaps&#39; (1)",
        "/alerts",
    ),
    "not set up": (worker(failed="no <b>luck</b>"), "no &lt;b&gt;luck&lt;/b&gt;", STAGE_PATH),
    "an alert": (full_disk("mill"), "The database stops when the disk is full.", "/alerts"),
    "dead letters": (letters, "2 failed items.", f"/dead-letters?stage={SITEMAP_STAGE}"),
    "circuits": (
        adding(Host(host="down.example", circuit_open_until=func.now() + HOUR)),
        "1 host keeps failing and is backing off",
        "/hosts?left_alone=true",
    ),
    "lost sitemaps": (
        lost_sitemaps,
        "1 domain had sitemaps before, but the last scan found none.",
        "/domains?has_warning=true",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_what_is_wrong_is_said_with_a_link_to_where_it_is_mended(
    client: httpx.AsyncClient, database: Database, case: str
) -> None:
    await stored(database, a_domain(status="completed"))
    assert CALM in await shown(client)
    go_wrong, sentence, path = WRONG[case]
    async with database.transaction() as session:
        await go_wrong(session)

    page = await shown(client)
    assert CALM not in page
    [concern] = [each for each in page.split('<li class="notice') if sentence in each]
    assert f'href="{path}"' in concern


@pytest.mark.parametrize("case", WRONG)
async def test_the_overview_and_the_alerts_page_say_the_same(
    client: httpx.AsyncClient, database: Database, case: str
) -> None:
    go_wrong, _, _ = WRONG[case]
    async with database.transaction() as session:
        session.add(a_domain(status="completed"))
        session.add(Alert(rule="disk_low", subject="old", sentence="It was full an hour ago."))
        await go_wrong(session)

    overview, alerts = await shown(client), (await client.get("/alerts")).text
    firing = re.findall(r'<div class="notice bad">.*?</h3>\s*<p>(.*?)</p>', alerts, re.DOTALL)
    grave = re.findall(r'<li class="notice bad">.*?</strong> (.*?)</span>', overview, re.DOTALL)
    assert [_without_numbers(each) for each in grave] == [_without_numbers(each) for each in firing]
    assert ("No alerts." in alerts) is (not grave)
    assert "an hour ago" not in overview


def _without_numbers(sentence: str) -> str:
    """The two pages are asked one after the other, and ages grow meanwhile."""
    return re.sub(r"\d+", "0", sentence)


async def test_an_alert_about_a_stage_is_not_said_twice_nor_after_its_end(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        session.add(
            Alert(rule="stage_without_consumer", subject=SUBMISSION_STAGE, sentence="As noted.")
        )
        session.add(a_domain(status="completed"))
    assert CALM in await shown(client)
    async with database.transaction() as session:
        await a_due_domain(session)
    page = await shown(client)
    assert "no consumer runs this stage" in page
    assert "As noted." not in page


# Who sees what


async def test_others_see_their_own_and_nothing_of_the_installation(
    url: str, database: Database
) -> None:
    other = await add_tenant(database, "other")
    _, theirs = await add_key(database, other, role=Role.VIEWER)
    _, ours = await add_key(database)
    owned = {"tenant_id": other.tenant_id, "created_by": other.user_id}
    mine, hidden = (
        a_domain("theirs.example", status="pending", **owned),
        a_domain("hidden.example", status="pending"),
    )
    await stored(database, mine, hidden, a_page(hidden, "/kontakt"))
    async with database.transaction() as session:
        await letters(session)
        await lost_sitemaps(session)
        await full_disk("secret-machine")(session)
        session.add(Host(host="down.example", circuit_open_until=func.now() + HOUR))
        session.add(StageEvent(stage=METADATA_STAGE, kind="completed", rows=777))

    async with asking(signed_in_settings(url), theirs) as client:
        page = await shown(client)
        parts = await shown(client, over="week")
    for each in (page, parts):
        assert "theirs.example" in each
        for secret in ("hidden.example", "secret-machine", "backed off", "became dead", "777"):
            assert secret not in each
        assert "lost.example" not in each
        assert CALM in each
        assert 'href="/stages' not in each
        assert "Last hour" not in each
    assert total_of(page, "Domains") == "1"
    assert total_of(page, "Pages") == "0"
    assert number_of(page, "/domains?status=pending") == "1"
    assert number_of(page, "/jobs?status=pending&amp;job_type=sitemap") == "0"
    assert "New rows over the last day" in page

    async with asking(signed_in_settings(url), ours) as client:
        page = await shown(client)
    # The tenant's own, the hidden one, the one that lost its sitemaps, and two with dead letters.
    assert int(total_of(page, "Domains")) >= 3
    assert "hidden.example" in page
    assert "theirs.example" not in page
    assert "777" in page
    assert "secret-machine" in page


async def test_the_box_is_offered_to_those_who_may_use_it(url: str, database: Database) -> None:
    for role, offered in ((Role.VIEWER, False), (Role.CURATOR, True)):
        _, secret = await add_key(database, role=role)
        async with asking(signed_in_settings(url), secret) as client:
            page = await shown(client)
            preview = await client.get("/start/preview", params={"text": "bakery.example"})
        assert ('id="start"' in page) is offered
        assert preview.status_code == (200 if offered else 403)


async def test_the_preview_tells_what_each_entry_is_taken_for(client: httpx.AsyncClient) -> None:
    said = await client.get(
        "/start/preview", params={"text": "bakery.example\n<b>bold\nbakery.example/sitemap.xml"}
    )
    assert "Taken as a domain" in said.text
    assert "Taken as a sitemap" in said.text
    assert "<b>" not in said.text
    nothing = await client.get("/start/preview", params={"text": " "})
    assert (nothing.status_code, nothing.text.strip()) == (200, "")


# What it costs


@contextmanager
def counted(client: httpx.AsyncClient) -> Iterator[list[str]]:
    engine = client.app.state.context.database.engine.sync_engine  # type: ignore[attr-defined]
    asked: list[str] = []

    def hear(_c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        asked.append(statement)

    event.listen(engine, "before_cursor_execute", hear)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", hear)


@pytest.mark.parametrize("times", [1, 4])
async def test_a_page_asks_few_questions_however_many_stages_there_are(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """With sign-in and large tables: everything a page can need."""
    _, secret = await add_key(database)
    await stored(database, *(a_domain(f"site{n}.example") for n in range(12)))
    monkeypatch.setattr(stages, "MAX_EXACT_ROWS", 10)
    monkeypatch.setattr(totals, "MAX_EXACT_ROWS", 10)
    async with asking(signed_in_settings(url), secret) as client:
        state = client.app.state  # type: ignore[attr-defined]
        more = tuple(
            replace(each, name=f"{each.name}_{n}") for n in range(times) for each in STAGES
        )
        state.context = replace(state.context, stages=more)
        await shown(client)  # the first use of a key notes that it was used
        with counted(client) as asked:
            page = await shown(client)
    assert page.count('<li class="stage') == len(more)
    assert len(asked) <= MOST_QUERIES, "\n\n".join(asked)
