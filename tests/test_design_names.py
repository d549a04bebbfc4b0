"""Every name of the design documents is listed in the docs and exists."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest

from scrapersky.db.base import Base
from scrapersky.pipeline.stage import AnyStage
from scrapersky.sitemaps.discovery import process_domain_with_own_session
from scrapersky.stages import STAGES
from tests.app import serving
from tests.conftest import make_settings
from tests.processes import ROOT

PACKAGE = ROOT / "src" / "scrapersky"
PAGE = (ROOT / "docs" / "from-the-design-documents.md").read_text()
ROW = re.compile(r"^\| (?P<named>`[^|]+) \| (?P<here>[^|]+) \|(?P<change>[^|]*)\|?$", re.MULTILINE)
PLACE = re.compile(r"`(?P<path>[\w/]+\.py)(?:: (?P<name>[\w.]+))?`")
NOT_YET = "not there yet"

KNOWN = [
    "run_job_loop",
    "process_domain_with_own_session",
    "process_pending_sitemaps",
    "get_background_session",
    "job_service.create",
    "job_service.get_pending_jobs",
    "job_service.update_status",
    "SitemapAnalyzer",
    "analyze_domain_sitemaps",
    "detect_site_metadata",
    "scheduler_instance.py",
    "start_scheduler",
    "shutdown_scheduler",
    "job_listener",
    "setup_domain_scheduler",
    "setup_sitemap_scheduler",
    "setup_domain_sitemap_submission_scheduler",
    "setup_sitemap_import_scheduler",
    "setup_page_curation_scheduler",
    "services/domain_scheduler.py",
    "services/sitemap_scheduler.py",
    "services/domain_sitemap_submission_scheduler.py",
    "services/sitemap_import_scheduler.py",
    "WF7_V2_L4_2of2_PageCurationScheduler.py",
    "process_pending_domains",
    "process_pending_jobs",
    "process_pending_sitemap_imports",
    "process_page_curation_queue",
    "routers/modernized_sitemap.py",
    "scan_domain",
    "services/sitemap/processing_service.py",
    "services/sitemap/background_service.py",
    "services/sitemap/analyzer_service.py",
    "store_domain_data",
    "services/job_service.py",
    "session/async_session.py",
    "scraper/sitemaps/sitemap_analyzer.py",
    "scraper/domain_utils.py",
    "common/curation_sdk/scheduler_loop.py",
    "Domain.update_from_metadata",
    "PlacesDeepService.process_single_deep_scan",
    "LocalBusinessToDomainService.create_pending_domain_from_local_business",
    "DomainToSitemapAdapterService.submit_domain_to_legacy_sitemap",
    "SitemapImportService.process_single_sitemap_file",
    "PageCurationService.process_single_page_for_curation",
    "domain_curation_service",
    "places_staging",
    "place_searches",
    "LocalBusiness",
    "Domain",
    "SitemapFile",
    "SitemapUrl",
    "Page",
    "Contact",
    "Job",
    "BatchJob",
]


def rows() -> dict[str, str]:
    """What was named there → where it is here, of all tables."""
    return {match["named"].strip("`"): match["here"].strip() for match in ROW.finditer(PAGE)}


def places() -> Iterator[tuple[str, str | None]]:
    for match in PLACE.finditer("\n".join(rows().values())):
        yield match["path"], match["name"]


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_name_is_on_the_page(name: str) -> None:
    here = rows()[name]

    assert here == NOT_YET or PLACE.search(here), here


@pytest.mark.parametrize(("path", "name"), sorted(set(places()), key=str))
def test_a_place_on_the_page_is_there(path: str, name: str | None) -> None:
    assert (PACKAGE / path).is_file()
    if name is not None:
        module = importlib.import_module(
            ".".join(("scrapersky", *Path(path).with_suffix("").parts))
        )
        assert reduce(getattr, name.split("."), module) is not None


def test_every_name_of_the_documents_has_its_place() -> None:
    assert [name for name, here in rows().items() if here == NOT_YET] == []


def test_arguments_of_the_old_loop_are_fields_of_a_stage() -> None:
    fields = re.findall(r"`Stage\.(\w+)`", PAGE)
    stage = STAGES[0]

    assert len(fields) >= 8
    assert [each for each in fields if not hasattr(stage, each)] == []


def test_the_signature_people_know_is_kept() -> None:
    code = process_domain_with_own_session.__code__

    assert code.co_varnames[: code.co_argcount] == ("job_id", "domain", "user_id", "max_urls")
    assert process_domain_with_own_session.__defaults__ == (None, 100)


def test_columns_on_the_page_are_there() -> None:
    section = PAGE.partition("\n## Columns\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+)\.(\w+)`", "".join(match["here"] for match in ROW.finditer(section)))

    assert len(named) > 15
    missing = [each for each in named if each[1] not in Base.metadata.tables[each[0]].columns]
    assert missing == []


def test_columns_that_are_gone_are_gone() -> None:
    section = PAGE.partition("\n## Columns\n")[2].partition("\n## ")[0]
    there = "".join(match["named"] for match in ROW.finditer(section))
    tables = Base.metadata.tables

    assert [
        f"{table}.{column}"
        for table, column in re.findall(r"`?(\w+)\.(\w+)`?", there)
        if table in tables and column in tables[table].columns
    ] == []


@pytest.mark.parametrize("stage", STAGES, ids=lambda each: each.name)
def test_a_stage_stands_beside_its_workflow_number(stage: AnyStage) -> None:
    section = PAGE.partition("\n## Workflows\n")[2].partition("\n## ")[0]
    numbers = {
        stage: number for number, stage in re.findall(r"^\| ([^|]+) \| `(\w+)`", section, re.M)
    }
    numbers["process_webhook_deliveries"] = "no number"

    told = re.findall(r"WF\d", numbers[stage.name]) if stage.workflow else ["no number"]
    assert (stage.workflow or "no number").split("/") == told
    assert stage.workflow or numbers[stage.name].startswith("no number")


async def test_the_api_says_which_workflow_a_stage_is(url: str) -> None:
    async with serving(make_settings(url, scheduler_enabled=False)) as client:
        stages = (await client.get("/api/v3/stages")).json()
        one = (await client.get("/api/v3/stages/process_pending_domain_sitemap_submissions")).json()

    assert {each["name"]: each["workflow"] for each in stages} == {
        each.name: each.workflow for each in STAGES
    }
    assert one["workflow"] == "WF4"


@pytest.mark.parametrize("script", re.findall(r"^\| `(scripts/[\w/]+\.py)", PAGE, re.MULTILINE))
def test_a_script_on_the_page_is_there(script: str) -> None:
    assert (ROOT / script).is_file()
