"""`stage pace` and `host`."""

from __future__ import annotations

from sqlalchemy import select

from scrapersky.pipeline.tables import StageControl
from tests.cli.conftest import Invoke, from_database

SITEMAPS = "process_pending_sitemaps"


def test_a_pace_is_changed_and_taken_back(invoke: Invoke, url: str) -> None:
    said = invoke("stage", "pace", SITEMAPS, "--concurrency", "2", "--interval-minutes", "0.5")
    assert said.out == f"{SITEMAPS}: interval_minutes 0.5, concurrency 2\n"
    invoke("stage", "pace", SITEMAPS, "--interval-minutes", "as set")
    assert from_database(url, select(StageControl.pace)) == [{"concurrency": 2}]


def test_a_pace_that_is_no_number_is_refused(invoke: Invoke, url: str) -> None:
    said = invoke("stage", "pace", SITEMAPS, "--concurrency", "fast")
    assert said.code != 0
    assert "'fast'" in said.err
    assert from_database(url, select(StageControl.pace)) == []


def test_without_hosts_the_list_says_so(invoke: Invoke) -> None:
    assert invoke("host", "list", "--left-alone").out == "No hosts are backing off.\n"
    unknown = invoke("host", "ask-again", "nobody.example")
    assert unknown.code != 0
    assert "nobody.example" in unknown.err
