"""Curation on the command line: preview, confirmation, undo."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import AuditEntry, Domain, Page
from tests.cli.conftest import Invoke, from_database
from tests.lists.rows import add_rows


def add(url: str, kind: str, count: int, **more: Any) -> list[UUID]:
    async def work() -> list[UUID]:
        database = Database(url, pool_size=2)
        ids = await add_rows(database, kind, count, **more)
        await database.close()
        return ids

    return asyncio.run(work())


def decisions(url: str) -> list[str]:
    return from_database(url, select(Domain.sitemap_curation_status).order_by(Domain.id))


def test_rows_are_chosen_by_filters_and_the_decision_is_taken_back(
    invoke: Invoke, url: str
) -> None:
    add(url, "domain", 2, cms="WordPress", is_wordpress=True)
    add(url, "domain", 1, cms="Joomla")
    chosen = ("--filter", "cms=WordPress", "--filter", "is_wordpress=true")
    wanted = ("curate", "domains", "--status", "Selected", *chosen)

    tried = invoke(*wanted, "--dry-run")
    unasked = invoke(*wanted)
    assert tried.out == "2 domains will be set to Selected.\n"
    assert (unasked.code, "add --yes" in unasked.err) == (2, True)
    assert decisions(url) == ["New"] * 3

    done = invoke(*wanted, "--yes", "--why", "good ones")
    assert done.out == "2 domains set to Selected, 2 of them queued.\n"
    assert decisions(url) == ["Selected", "Selected", "New"]
    undone = invoke("curate", "undo")
    assert undone.out == "Undone: 2 domains no longer Selected.\n"
    assert "2 removed from the stage's queue" in undone.err
    assert decisions(url) == ["New"] * 3
    noted = from_database(url, select(AuditEntry.action).order_by(AuditEntry.id))
    assert noted == ["domain.curate", "domain.undo"]
    assert invoke("curate", "undo").code == 1


def test_rows_are_chosen_by_their_ids_or_all_of_them(invoke: Invoke, url: str) -> None:
    ids = add(url, "page", 3)

    one = invoke("curate", "pages", "--status", "Skipped", "--id", str(ids[0]), "--yes")
    rest = invoke("curate", "pages", "--status", "Skipped", "--all", "--yes")
    none = invoke("curate", "pages", "--status", "Skipped", "--all", "--yes")

    assert one.out == "1 page set to Skipped.\n"
    assert rest.out == "2 pages set to Skipped.\n"
    assert none.out == "0 pages will be set to Skipped.\n"
    action = one.err.split()[-1]
    assert invoke("curate", "undo", "--action", action).out == "Undone: 1 page no longer Skipped.\n"
    left = from_database(url, select(Page.page_curation_status).order_by(Page.id))
    assert left == ["New", "Skipped", "Skipped"]


def test_a_filter_that_is_given_twice_means_either(invoke: Invoke, url: str) -> None:
    for host in ("a.example", "b.example", "c.example"):
        add(url, "page", 1, host=host)
    either = ("--filter", "host=a.example", "--filter", "host=b.example")

    said = invoke("curate", "pages", "--status", "Selected", *either, "--dry-run")

    assert said.out == "2 pages will be set to Selected.\n"


def test_a_word_of_the_engine_is_refused_with_those_to_choose_from(
    invoke: Invoke, url: str
) -> None:
    add(url, "page", 1)
    said = invoke("curate", "pages", "--status", "Complete", "--all", "--yes")

    assert said.code == 2
    assert "'Complete' can only be set by the engine" in said.err
    assert "New, Selected, Skipped" in said.err


def test_selecting_a_domain_that_was_scanned_lately_says_how_to_force_a_scan(
    invoke: Invoke, url: str
) -> None:
    add(url, "domain", 1, last_scan=datetime.now(UTC))
    said = invoke("curate", "domains", "--status", "Selected", "--all", "--yes")

    assert "No new scan: 1 domain was scanned within the rescan interval." in said.err
    assert "scrapersky scan DOMAIN" in said.err


def test_what_does_not_fit_is_refused(invoke: Invoke, url: str) -> None:
    (row_id,) = add(url, "domain", 1)
    tries = {
        ("--status", "Chosen", "--all"): "Selected",
        ("--status", "Maybe"): "--all",
        ("--status", "Maybe", "--filter", "cms"): "NAME=VALUE",
        ("--status", "Maybe", "--filter", "cmss=x"): "cms",
        ("--status", "Maybe", "--id", str(row_id), "--all"): "not both",
    }
    for arguments, told in tries.items():
        said = invoke("curate", "domains", *arguments, "--yes")
        assert (said.code, told in said.err) == (2, True), arguments
    assert decisions(url) == ["New"]
