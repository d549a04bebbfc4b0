"""Stored URLs, printed or written to a file."""

from __future__ import annotations

import asyncio
import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.fake_web import FakeWeb, urlset

LOCS = ["http://bakery.example/", "http://bakery.example/bread"]


@pytest.fixture
async def scanned(cli: Cli) -> Cli:
    assert (await cli("scan", "bakery.example")).code == 0
    return cli


async def test_three_formats_tell_the_same(scanned: Cli, tmp_path: Path) -> None:
    file = tmp_path / "urls.csv"

    txt, as_json, as_csv = await asyncio.gather(
        scanned("urls", "www.bakery.example"),
        scanned("urls", "bakery.example", "--format", "json"),
        scanned("urls", "bakery.example", "--format", "csv", "-o", str(file)),
    )

    assert sorted(txt.out.splitlines()) == LOCS
    assert sorted(each["url"] for each in json.loads(as_json.out)) == LOCS
    assert sorted(each["url"] for each in csv.DictReader(file.open())) == LOCS
    assert (as_csv.code, as_csv.out) == (0, "")
    assert [each.name for each in tmp_path.iterdir()] == ["urls.csv"]


async def test_a_site_that_was_never_scanned_is_not_known(cli: Cli) -> None:
    said = await cli("urls", "bakery.example")

    assert (said.code, said.out) == (1, "")
    assert said.err == "Error: There is no domain bakery.example; scan it first.\n"


async def test_who_reads_only_the_beginning_is_not_told_off(cli: Cli, web: FakeWeb) -> None:
    many = [f"http://bakery.example/{number}" for number in range(20_000)]
    web.host("bakery.example").xml("/sitemap.xml", urlset(*many))
    await cli("scan", "bakery.example")
    listing = await cli.start("urls", "bakery.example")
    assert listing.stdout is not None
    assert listing.stderr is not None

    await listing.stdout.readline()
    listing.stdout._transport.close()  # type: ignore[attr-defined]

    assert await listing.stderr.read() == b""
    assert await listing.wait() == 0
