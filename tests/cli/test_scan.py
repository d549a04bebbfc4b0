"""`scrapersky scan`: its output, stored results and exit codes."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence

import pytest
from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.models import Job, SitemapUrl
from tests.cli.conftest import (
    Cli,
    Invoke,
    after,
    asked_for,
    ended,
    stopped,
    two_workers,
    until,
)
from tests.fake_web import FakeWeb, urlset


async def jobs(rows: Database) -> Sequence[Job]:
    async with rows.reading() as session:
        return (await session.scalars(select(Job))).all()


async def test_shows_what_was_found(cli: Cli, rows: Database) -> None:
    said = await cli("scan", "HTTPS://www.Bakery.example/")

    assert said.code == 0, said
    assert "standard  robots_txt  ok         2          http://bakery.example/sitemap.xml" in (
        said.out
    )
    assert "1 sitemap, 2 URLs from http://bakery.example" in said.out
    assert "bakery.example: " in said.err
    async with rows.reading() as session:
        assert await session.scalar(select(func.count(SitemapUrl.id))) == 2


async def test_json_is_one_document_and_nothing_else(cli: Cli) -> None:
    said = await cli("scan", "bakery.example", "--max-pages", "1", "--json")

    document = json.loads(said.out)
    assert document["status"] == "complete"
    assert document["params"]["max_pages"] == 1
    assert document["result_data"]["truncated"] is True
    assert [each["url"] for each in document["sitemaps"]] == ["http://bakery.example/sitemap.xml"]
    assert (said.code, said.err) == (3, "")


async def test_a_sitemap_that_cannot_be_read_makes_it_partial(cli: Cli, web: FakeWeb) -> None:
    web.host("bakery.example").robots(
        "Sitemap: http://bakery.example/sitemap.xml\nSitemap: http://bakery.example/broken.xml\n"
    ).body("/broken.xml", "", status=500)

    said = await cli("scan", "bakery.example")

    assert said.code == 3, said
    assert "http://bakery.example/broken.xml: It answered 500." in said.out


async def test_no_sitemap_is_an_answer(cli: Cli, web: FakeWeb) -> None:
    web.host("bakery.example").routes.clear()

    said = await cli("scan", "bakery.example")

    assert said.code == 0, said
    assert "No sitemap found" in said.out
    assert "It answered 404." in said.out


async def test_a_site_that_is_not_there_fails(cli: Cli) -> None:
    said = await cli("scan", "nowhere.invalid")

    assert said.code == 1, said
    assert "The scan of nowhere.invalid failed: " in said.out


async def test_a_retry_is_waited_for(cli: Cli, web: FakeWeb) -> None:
    web.host("bakery.example").closes("/").closes("/robots.txt")

    said = await cli("scan", "bakery.example", SITEMAP_SCHEDULER_MAX_ATTEMPTS="2")

    assert said.code == 1, said
    assert "retrying in 1 s, 0:00 (attempt 1 failed: " in said.err
    assert "(after 2 attempts)" in said.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([""], "The domain is empty"),
        (["two words"], "contains a space"),
        (["http://user:secret@bakery.example"], "must not contain a user name or password"),
        (["10.0.0.1"], "10.0.0.1"),
        (["localhost"], "localhost"),
        (["a" * 300 + ".example"], "longer than"),
        (["javascript:alert(1)"], "Only http and https"),
        (["bakery.example", "--max-pages", "0"], "greater than or equal to 1"),
        (["bakery.example", "--max-pages", "-1"], "greater than or equal to 1"),
        (["bakery.example", "--max-pages", "99999999999"], "less than or equal to 50000000"),
        (["bakery.example", "--max-pages", "many"], "valid integer"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_refused_before_a_database_is_opened(
    arguments: list[str], sentence: str, bare_invoke: Invoke
) -> None:
    said = bare_invoke("scan", *arguments)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Error: ")
    assert sentence in said.err
    assert "secret" not in said.err


async def test_an_interruption_hands_the_row_back(cli: Cli, web: FakeWeb, rows: Database) -> None:
    web.host("bakery.example").hang("/sitemap.xml")
    scan = await cli.start("scan", "bakery.example")
    await until(lambda: asked_for(web, "/sitemap.xml"))

    said = await stopped(scan, signal.SIGINT)

    [job] = await jobs(rows)
    assert (job.status, job.attempts, job.worker_id) == ("pending", 0, None)
    assert said.code == 130
    assert "was released" in said.err
    assert said.out == ""


async def test_two_scans_of_one_site_share_a_job(cli: Cli, web: FakeWeb, rows: Database) -> None:
    bakery, site_goes_on = web.host("bakery.example"), asyncio.Event()
    bakery.route("/sitemap.xml", after(site_goes_on))
    first = await cli.start("scan", "bakery.example")
    await until(lambda: asked_for(web, "/sitemap.xml"))

    second = await cli.start("scan", "bakery.example", "--json")
    await until(lambda: two_workers(rows))
    site_goes_on.set()

    assert (await ended(first)).code == 0
    watched = await ended(second)
    [job] = await jobs(rows)
    assert json.loads(watched.out)["job_id"] == str(job.id)
    assert bakery.count("/sitemap.xml") == 1


async def test_what_a_killed_process_left_is_taken_over_by_who_watches(
    cli: Cli, web: FakeWeb, rows: Database
) -> None:
    bakery = web.host("bakery.example")
    bakery.hang("/sitemap.xml")
    killed = await cli.start("scan", "bakery.example")
    await until(lambda: asked_for(web, "/sitemap.xml"))
    watching = await cli.start("scan", "bakery.example", "--json")
    await until(lambda: two_workers(rows))
    bakery.xml("/sitemap.xml", urlset("http://bakery.example/"))

    killed.kill()

    document = json.loads((await ended(watching)).out)
    assert (document["status"], document["attempts"]) == ("complete", 1)
