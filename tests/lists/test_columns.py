"""A column of a kind of row is declared once."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from scrapersky.contacts.listing import CONTACTS
from scrapersky.dashboard.table import Table
from scrapersky.dashboard.views.routes import TABLES
from scrapersky.lists import Column, Export, Listing
from tests.lists.added_column import FAXES

ROOT = Path(__file__).parents[2]


async def test_one_declared_line_adds_a_column_to_api_export_dashboard_and_command_line(
    url: str,
) -> None:
    found = await _run_with_added_column(url)
    first, second, _ = FAXES
    assert found["listed"] == [first, second, None]
    assert found["backwards"] == [None, second, first]
    assert found["filtered"] == [second]
    assert found["described"]["anyOf"] == [{"type": "string"}, {"type": "null"}]

    rows = list(csv.DictReader(found["csv"].splitlines()))
    assert [row["Fax"] for row in rows] == [first, second, ""]

    assert 'href="/contacts?sort=-fax"' in found["page"]  # the heading sorts the other way round
    assert 'name="fax"' in found["page"]  # the filter
    assert f"<bdi>{first}</bdi>" in found["page"]

    heading, *lines = found["cli"].splitlines()
    assert "Fax" in heading.split()
    assert [first in line for line in lines] == [True, False, False]
    assert len(found["cli_filtered"].splitlines()) == 2


async def _run_with_added_column(url: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.lists.added_column",
        stdout=PIPE,
        stderr=PIPE,
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out.splitlines()[-1])  # after the log
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind)
def test_every_column_of_a_kind_has_its_own_name(table: Table) -> None:
    names = [each.name for each in table.listing.all_columns]
    assert sorted(names) == sorted(set(names))
    assert {*table.cells} <= {*names}


def test_a_column_that_is_not_exported_is_in_the_api_only() -> None:
    raw = Column(CONTACTS.model.raw, export=False)
    listing = Listing("Contact", CONTACTS.model, columns=(raw, Column(CONTACTS.model.value)))
    assert [each.name for each in Export(listing, "contacts").usual] == ["value"]
    assert raw.api
