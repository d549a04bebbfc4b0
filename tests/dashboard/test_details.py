"""Detail pages as rendered by the server: their content by role, and their number of queries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import Request
from sqlalchemy import event, update
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.live import LiveContext, LiveView
from scrapersky.dashboard.rendering import PageRenderer
from scrapersky.dashboard.views import domains, jobs
from scrapersky.db.session import Database
from scrapersky.models import Job, Role, restrict_to_tenant
from tests.app import serving
from tests.auth.accounts import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.conftest import make_settings
from tests.contacts.rows import a_domain, stored
from tests.dashboard.details_rows import (
    SITE,
    Known,
    a_sitemap,
    bakery_of_everything,
    hostile_bakery,
)

KINDS = ("domains", "jobs", "contacts", "leads", "pages", "sitemap-files", "dead-letters")
MOST_QUERIES = 8
MOST_BYTES = 150_000
HARMFUL = ("<script>alert", "<img", 'href="javascript', 'onerror="')


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(make_settings(url, scheduler_enabled=False)) as made:
        yield made


@pytest.fixture
async def known(database: Database) -> Known:
    return await bakery_of_everything(database)


async def shown(client: httpx.AsyncClient, path: str) -> str:
    answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


async def test_a_domain_shows_what_it_is_and_how_far_it_has_come(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/domains/{known.domains}")

    for said in (
        "WordPress 6.5",
        "a stylesheet of it",
        "Next scan in 3 days because the last scan found changes.",
        "Import URLs",
        "1 complete",
        f"info@{SITE}",
        "Delete backhaus-berger.de permanently? This includes 3 sitemaps with 40 URLs, 2 pages, "
        "2 contacts, the lead and 3 jobs.",
        'data-live="/live/domain?subject=',
    ):
        assert said in page


async def test_a_domain_shows_its_sitemaps_as_a_tree_with_verdicts_and_reasons(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/domains/{known.domains}")
    tree = page[page.index('<ul class="tree">') :]

    assert tree.index("/sitemap.xml") < tree.index("<ul>") < tree.index("/pages.xml")
    assert "Not XML." in tree
    assert "of 2 sitemaps" in tree


async def test_a_domain_shows_in_numbers_and_bars_what_each_look_found(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/domains/{known.domains}")

    assert "Last 2 scans: 42 new URLs, 3 changed, 1 removed." in page
    assert page.count('<rect class="') == 4


async def test_a_large_index_is_shown_in_part_with_how_many_more_there_are(
    client: httpx.AsyncClient, database: Database
) -> None:
    site = a_domain("many.example")
    index = a_sitemap(site, "/sitemap.xml", sitemap_type="index", url_count=50)
    children = [a_sitemap(site, f"/{n}.xml", parent_url=index.url, depth=1) for n in range(50)]
    await stored(database, site, index, *children)
    page = await shown(client, f"/domains/{site.id}")

    assert page.count("many.example/") >= 20
    assert "and 30 more in this index" in page
    assert "View all (51)" in page


async def test_a_failed_stage_of_a_domain_can_be_tried_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    site = a_domain("dead.example", status="error", error="It does not resolve.", attempts=3)
    await stored(database, site)
    page = await shown(client, f"/domains/{site.id}")

    assert "It does not resolve." in page
    assert "Does not answer." in page
    assert 'data-act="POST /stages/process_pending_domains/rows/requeue"' in page
    assert f'{{"ids": ["{site.id}"]}}' in page


async def test_a_job_shows_what_was_asked_what_came_of_it_and_its_sitemaps(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/jobs/{known.jobs}")

    for said in ("max pages", "2 new, 3 changed, 1 removed", "/pages.xml", "100 %", "1 min 10 s"):
        assert said in page
    assert "/broken.xml: not XML" in page


async def test_a_failed_job_says_why_leads_to_its_letter_and_can_be_tried_again(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/jobs/{known.failed_job}")

    assert "It does not answer." in page
    assert "Connection reset." in page
    assert f"/dead-letters/{known.dead_letters}" in page
    assert f'data-act="POST /jobs/{known.failed_job}/retry"' in page


async def test_a_contact_shows_its_evidence_marked_and_where_it_comes_from(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/contacts/{known.contacts}")

    assert "Schreiben Sie an <mark>info@backhaus-berger.de</mark>, gern." in page
    assert "mailto link" in page
    steps = (known.pages, known.sitemap_files, known.jobs, known.domains)
    lineage = page[page.index('<ol class="lineage">') :]
    places = [lineage.index(str(each)) for each in steps]
    assert places == sorted(places)


async def test_a_number_is_marked_as_the_page_writes_it(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/contacts/{known.phone}")

    assert "Telefon: <mark>030 / 90 18 20</mark> (Mo-Fr)" in page


async def test_a_contact_shows_what_was_done_to_it_and_by_whom(
    client: httpx.AsyncClient, known: Known
) -> None:
    wanted = {"name": "Anna Berger"}
    await client.patch(f"/api/v3/contacts/{known.contacts}", json=wanted)
    decided = {"ids": [str(known.contacts)], "status": "Selected"}
    await client.post("/api/v3/contacts/curate", json=decided)
    page = await shown(client, f"/contacts/{known.contacts}")
    history = page[page.index("<h2>History") :]

    assert "<bdi>New</bdi> → <bdi>Selected</bdi>" in history
    assert "empty → <bdi>Anna Berger</bdi>" in history
    assert 'value="Anna Berger"' in page


async def test_a_contact_that_nobody_may_write_to_says_so_first(
    client: httpx.AsyncClient, known: Known
) -> None:
    suppressing = {"items": [{"value": f"info@{SITE}"}]}
    await client.post("/api/v3/suppressions", json=suppressing)
    page = await shown(client, f"/contacts/{known.contacts}")

    assert "<strong>Do not contact.</strong>" in page
    assert "POST /suppressions" not in page


async def test_a_lead_is_a_business_card_with_why_its_best_address_is_the_best(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/leads/{known.leads}")

    assert "Only address found · same domain" in page
    assert "+4930901820" in page
    assert f"/contacts/{known.contacts}" in page
    assert f"/domains/{known.domains}" in page


async def test_a_lead_without_contacts_says_why(
    client: httpx.AsyncClient, database: Database
) -> None:
    site = a_domain("empty.example", site_state="parked", site_state_reason="It is for sale.")
    await stored(database, site)
    of_domain = {"domain_id": str(site.id)}
    lead = (await client.get("/api/v3/leads", params=of_domain)).json()["items"][0]
    page = await shown(client, f"/leads/{lead['id']}")

    assert "No contact: parked." in page
    assert "It is for sale." in page


async def test_a_page_shows_its_facts_its_kind_and_its_contacts(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/pages/{known.pages}")

    for said in ("Schreiben Sie uns", "path: kontakt (de)", "95 %", "Bakery", "230"):
        assert said in page
    assert f"/sitemap-files/{known.sitemap_files}" in page
    assert "<mark>info@backhaus-berger.de</mark>" in page
    assert "rows/reset" in page


async def test_a_sitemap_shows_its_verdict_what_was_not_kept_and_its_urls(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/sitemap-files/{known.sitemap_files}")

    for said in ("7 on another host", "120 ms", "First of 40", "and 39 more URLs"):
        assert said in page
    assert f"/sitemap-files/{known.index}" in page
    assert "<dd>robots.txt</dd>" in page
    above = await shown(client, f"/sitemap-files/{known.index}")
    assert "Lists 2 sitemaps" in above
    assert "Not XML." in above


async def test_a_dead_letter_shows_its_traceback_and_leads_to_its_row(
    client: httpx.AsyncClient, known: Known
) -> None:
    page = await shown(client, f"/dead-letters/{known.dead_letters}")

    assert "File &lt;x&gt;" in page
    assert f"/jobs/{known.failed_job}" in page
    assert "Connection reset." in page
    assert f'data-act="POST /dead-letters/{known.dead_letters}/replay"' in page


async def test_nothing_a_site_says_does_harm_or_makes_a_page_heavy_or_slow(
    client: httpx.AsyncClient, database: Database
) -> None:
    known = await hostile_bakery(database)
    for kind, path in known.paths().items():
        with counting(client) as said:
            answer = await client.get(path)

        assert (kind, answer.status_code) == (kind, 200)
        assert "&lt;script&gt;" in answer.text, kind
        assert not [each for each in HARMFUL if each in answer.text], kind
        assert len(answer.content) < MOST_BYTES, kind
        assert 0 < len(said) <= MOST_QUERIES, kind


async def test_rows_that_are_not_there_are_answered_with_a_page_that_says_so(
    client: httpx.AsyncClient,
) -> None:
    for kind in KINDS:
        answer = await client.get(f"/{kind}/{uuid4()}")

        assert (kind, answer.status_code) == (kind, 404)
        assert "<h1>Not found</h1>" in answer.text
        assert "There is no" in answer.text


async def test_rows_of_another_tenant_are_not_there(
    url: str, database: Database, known: Known
) -> None:
    other = await add_tenant(database, "butchers")
    _, secret = await add_key(database, other)
    async with asking(signed_in_settings(url), secret) as stranger:
        answers = {path: (await stranger.get(path)).status_code for path in known.paths().values()}

    assert set(answers.values()) == {404}


async def test_a_stream_shows_nothing_of_another_tenants_row(
    database: Database, known: Known
) -> None:
    other = await add_tenant(database, "butchers")
    nobody: Any = None
    for view, row_id in ((domains.VIEW, known.domains), (jobs.VIEW, known.jobs)):
        async with database.reading() as session:
            restrict_to_tenant(session, other.tenant_id)
            parts = await view.parts(LiveContext(nobody, session, other, str(row_id)))

        assert len(parts) == 1
        assert "<strong>Deleted.</strong>" in "".join(parts.values())


def a_look(client: httpx.AsyncClient, session: AsyncSession, subject: UUID) -> LiveContext:
    """As one stream looks again and again."""
    context = client.app.state.context  # type: ignore[attr-defined]
    scope = {"type": "http", "path": "/live", "headers": [], "query_string": b"", "state": {}}
    request = Request({**scope, "scheme": "http", "server": ("localhost", 80), "method": "GET"})
    show = PageRenderer(request, context, context.system)
    return LiveContext(show, session, context.system, str(subject))


@pytest.mark.parametrize(
    ("view", "kind", "renewed"), [(domains.VIEW, "domains", 7), (jobs.VIEW, "jobs", 5)]
)
async def test_a_stream_tells_everything_once_and_then_only_what_goes_on(
    client: httpx.AsyncClient,
    database: Database,
    known: Known,
    view: LiveView,
    kind: str,
    renewed: int,
) -> None:
    async with database.reading() as session:
        looked = a_look(client, session, getattr(known, kind))
        told = [len(await view.parts(looked)) for _ in range(2)]
        async with database.transaction() as changing:
            again = {"status": "processing", "phase": "reading sitemaps"}
            await changing.execute(update(Job).where(Job.id == known.jobs).values(again))
        await session.rollback()
        session.expire_all()
        parts = await view.parts(looked)

    assert [*told, len(parts)] == [renewed, 0, renewed]
    assert "reading sitemaps" in "".join(parts.values())


async def test_who_may_only_look_is_offered_no_change(
    url: str, database: Database, known: Known
) -> None:
    viewer = await add_user(database, "a viewer", role=Role.VIEWER)
    _, secret = await add_key(database, viewer, role=Role.VIEWER)
    async with asking(signed_in_settings(url), secret) as looking:
        pages = [await shown(looking, path) for path in known.paths().values()]

    offered = [
        word for page in pages for word in ("data-act", "data-form", "data-decide") if word in page
    ]
    assert offered == []


async def test_a_curator_is_offered_neither_to_delete_nor_to_erase(
    url: str, database: Database, known: Known
) -> None:
    curator = await add_user(database, "a curator", role=Role.CURATOR)
    _, secret = await add_key(database, curator, role=Role.CURATOR)
    async with asking(signed_in_settings(url), secret) as looking:
        site = await shown(looking, f"/domains/{known.domains}")
        contact = await shown(looking, f"/contacts/{known.contacts}")

    assert ("/refresh" in site, "DELETE /domains" in site) == (True, False)
    assert ("POST /suppressions" in contact, "/contacts/erase" in contact) == (True, False)


OURS: ContextVar[bool] = ContextVar("ours", default=False)


@contextmanager
def counting(client: httpx.AsyncClient) -> Iterator[list[str]]:
    """The statements of what is asked meanwhile, but not those of chores beside it."""
    engine = client.app.state.context.database.engine.sync_engine  # type: ignore[attr-defined]
    said: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if OURS.get():
            said.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    token = OURS.set(True)
    try:
        yield said
    finally:
        OURS.reset(token)
        event.remove(engine, "before_cursor_execute", note)


async def test_a_page_asks_the_database_at_most_eight_times(
    client: httpx.AsyncClient, known: Known
) -> None:
    asked = {}
    for kind, path in known.paths().items():
        with counting(client) as said:
            await shown(client, path)
        asked[kind] = len(said)

    assert set(asked) == set(KINDS)
    assert [kind for kind, count in asked.items() if not 0 < count <= MOST_QUERIES] == []
