"""Stored URLs, printed or written to a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Invoke

LOCS = ["http://bakery.example/", "http://bakery.example/bread"]


@pytest.mark.usefixtures("scanned")
def test_three_formats_tell_the_same(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "urls.csv"

    txt = invoke("urls", "www.bakery.example")
    as_json = invoke("urls", "bakery.example", "--format", "json")
    as_csv = invoke("urls", "bakery.example", "--format", "csv", "-o", str(file))

    assert sorted(txt.out.splitlines()) == LOCS
    assert sorted(each["url"] for each in json.loads(as_json.out)) == LOCS
    assert sorted(each["url"] for each in csv.DictReader(file.open())) == LOCS
    assert (as_csv.code, as_csv.out) == (0, "")
    assert [each.name for each in tmp_path.iterdir()] == ["urls.csv"]


@pytest.mark.usefixtures("scanned")
def test_the_format_is_that_of_the_files_name(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "urls.json"
    said = invoke("urls", "bakery.example", "-o", str(file))
    assert sorted(each["url"] for each in json.loads(file.read_text())) == LOCS
    assert f"Wrote 2 URLs to {file}." in said.err
    refused = invoke("urls", "bakery.example", "--format", "csv", "-o", str(file))
    assert refused.code != 0
    assert "--format is csv" in refused.err


def test_a_site_that_was_never_scanned_is_not_known(invoke: Invoke) -> None:
    said = invoke("urls", "bakery.example")

    assert (said.code, said.out) == (1, "")
    assert said.err == "Error: There is no domain bakery.example. Scan it first.\n"


@pytest.mark.usefixtures("scanned")
async def test_who_has_read_enough_is_not_told_off(cli: Cli) -> None:
    listing = await cli.start("urls", "bakery.example")
    assert listing.stdout is not None
    assert listing.stderr is not None

    listing.stdout._transport.close()  # type: ignore[attr-defined]

    assert await listing.stderr.read() == b""
    assert await listing.wait() == 0
