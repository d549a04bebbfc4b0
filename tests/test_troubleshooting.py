"""The queries of the troubleshooting page work as documented."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, text, update

from scrapersky.db.session import Database
from scrapersky.pipeline.stage import AnyStage
from scrapersky.stages import STAGES
from tests.processes import ROOT
from tests.stage_cases import CASES

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
SQL = re.compile(r"^```sql\n(?P<query>.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT = "Rows left in processing"
SECTIONS = {
    "process_place_searches": "Place search",
    "process_deep_scans": "Place details",
    "process_domain_extractions": "Domain extraction",
    "process_pending_domains": "Domain metadata",
    "process_pending_domain_sitemap_submissions": "Sitemap submission",
    "process_pending_sitemaps": "Sitemap jobs",
    "process_sitemap_imports": "Sitemap import",
    "process_page_curation_queue": "Page reading",
    "process_webhook_deliveries": "Webhook deliveries",
}


def section(title: str) -> str:
    return re.split(r"^##", PAGE.partition(f"\n### {title}\n")[2], maxsplit=1, flags=re.M)[0]


def queries(title: str) -> list[str]:
    return [match["query"] for match in SQL.finditer(section(title))]


async def rows_of(database: Database, query: str) -> list[Any]:
    async with database.reading() as session:
        return list((await session.execute(text(query.replace(":", r"\:")))).all())


async def put(database: Database, stage: AnyStage, status: str, **more: Any) -> None:
    """One row of the stage in this state."""
    async with database.transaction() as session:
        (row_id,) = await CASES[stage.name].make_due(session, 1)
        columns = {getattr(stage.queue, name).key: value for name, value in more.items()}
        model: Any = stage.model
        await session.execute(
            update(model).where(model.id == row_id).values({stage.status: status, **columns})
        )


def test_every_stage_has_its_section_query_and_remedies() -> None:
    assert SECTIONS.keys() == {each.name for each in STAGES}
    for stage in STAGES:
        told = section(SECTIONS[stage.name])
        assert f"`{stage.name}`" in told
        assert stage.workflow is None or stage.workflow.split("/")[0] in told
        assert len(queries(SECTIONS[stage.name])) == 1
        assert "| What you see | Why | What to do |" in told


@pytest.mark.parametrize("stage", STAGES, ids=lambda each: each.name)
async def test_a_stages_query_shows_a_row_that_failed(database: Database, stage: AnyStage) -> None:
    await put(database, stage, stage.words.failed, error="It was not to be.")

    (row,) = await rows_of(database, queries(SECTIONS[stage.name])[0])

    assert "It was not to be." in row


@pytest.mark.parametrize("stage", STAGES, ids=lambda each: each.name)
async def test_rows_left_in_processing_are_listed_for_every_stage(
    database: Database, stage: AnyStage
) -> None:
    left, workers = queries(LEFT)
    over, later = (func.now() + timedelta(hours=hours) for hours in (-1, 1))
    await put(database, stage, stage.words.processing, lease_expires_at=over, error="Left.")
    if "job_type" not in stage.only:  # another job would need another domain
        await put(database, stage, stage.words.processing, lease_expires_at=later, error="Held.")

    (row,) = await rows_of(database, left)

    assert (row.rows, row.error) == (stage.model.__tablename__, "Left.")
    assert await rows_of(database, workers) == []


async def test_filtered_pages_are_counted_by_their_reason(database: Database) -> None:
    (stage,) = (each for each in STAGES if each.name == "process_page_curation_queue")
    await put(database, stage, "Filtered", error="Enough pages are read.")

    (row,) = await rows_of(database, queries("Filtered pages")[0])

    assert tuple(row)[2:] == ("Filtered", "Enough pages are read.", 1)


async def test_every_query_on_the_page_runs(database: Database) -> None:
    found = [match["query"] for match in SQL.finditer(PAGE)]

    assert len(found) >= len(STAGES) + 3
    for query in found:
        await rows_of(database, query)
