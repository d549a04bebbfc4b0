"""`scrapersky import` and `scrapersky domain`: files are imported, errors are reported by line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from sqlalchemy import select

from scrapersky.cli import imports
from scrapersky.models import Domain, Job, Page, Place, SitemapFile
from tests.cli.conftest import Invoke, from_database


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "sites.csv"
    path.write_bytes(
        "Firma;Webseite;Kontakt\r\nBäckerei;www.bakery.example;https://bakery.example/kontakt\r\n"
        "Florist;florist.example;florist.example/impressum\r\n".encode("cp1252")
    )
    return path


def test_a_file_of_domains_is_taken_and_queued(invoke: Invoke, url: str, table: Path) -> None:
    said = invoke("import", "domains", str(table))

    assert said.code == 0
    assert said.out == "2 domains added; 2 queued.\n"
    rows = from_database(url, select(Domain).order_by(Domain.domain))
    assert [(each.domain, each.status) for each in rows] == [
        ("bakery.example", "pending"),
        ("florist.example", "pending"),
    ]


def test_without_queue_they_are_only_stored(invoke: Invoke, url: str, table: Path) -> None:
    said = invoke("import", "domains", str(table), "--no-queue")

    assert said.out == "2 domains added; none queued.\n"
    assert set(from_database(url, select(Domain.status))) == {"new"}
    again = invoke("import", "domains", str(table))
    assert again.out == "0 domains added, 2 already stored; 2 queued.\n"


def test_a_file_of_businesses_becomes_places_that_go_on(
    invoke: Invoke, url: str, table: Path
) -> None:
    said = invoke("import", "places", str(table), "--region", "DE")

    assert said.out == "2 places added; 2 queued.\n"
    rows = from_database(url, select(Place).order_by(Place.name))
    assert [(each.name, each.website_url) for each in rows] == [
        ("Bäckerei", "www.bakery.example"),
        ("Florist", "florist.example"),
    ]
    assert {each.deep_scan_status for each in rows} == {"Queued"}


def test_another_column_can_be_named(invoke: Invoke, url: str, table: Path) -> None:
    said = invoke("import", "pages", str(table), "--column", "kontakt")

    assert said.out == "2 pages added; 2 queued.\n"
    assert set(from_database(url, select(Page.url))) == {
        "https://bakery.example/kontakt",
        "https://florist.example/impressum",
    }


def test_standard_input_is_read_and_json_tells_of_each_row(
    invoke: Invoke, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        b"https://bakery.example/sitemap.xml\nbakery.example\nhttps://bakery.example/sitemap.xml\n"
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(source)))
    said = invoke("import", "sitemaps", "-", "--json")

    assert said.code == 3
    results = json.loads(said.out)["results"]
    assert [each["status"] for each in results] == ["created", "invalid", "duplicate"]
    assert from_database(url, select(Job.id)) == [
        each.id for each in from_database(url, select(Job)) if str(each.id) == results[0]["job_id"]
    ]
    assert from_database(url, select(SitemapFile.status)) == ["unread"]


def test_bad_rows_are_named_by_their_line(invoke: Invoke, url: str, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("bakery.example\n\ntwo words\n" + "info@bakery.example\n" * 30)
    said = invoke("import", "domains", str(path))

    assert said.code == 3
    assert "line 3: two words: " in said.err
    assert "line 4: info@bakery.example: " in said.err
    assert "11 more rows were invalid" in said.err
    assert said.out == "1 domain added, 31 invalid; 1 queued.\n"


def test_a_file_in_parts_knows_what_came_before(
    invoke: Invoke, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "ROWS_PER_TRANSACTION", 2)
    path = tmp_path / "list.txt"
    path.write_text("a.example\nb.example\nc.example\na.example\nd.example\n")
    said = json.loads(invoke("import", "domains", str(path), "--json").out)

    assert [each["status"] for each in said["results"]][3:] == ["duplicate", "created"]
    assert said["results"][3]["error"] == "Same as line 1."


def test_what_cannot_be_a_list_is_refused(invoke: Invoke, url: str, tmp_path: Path) -> None:
    empty, picture, other = (tmp_path / name for name in ("empty", "picture", "other"))
    empty.write_text("")
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    other.write_text("Name,Town\nBakery,Ulm\n")

    assert "Cannot read" in invoke("import", "domains", str(tmp_path / "nowhere")).err
    assert "Cannot read" in invoke("import", "domains", str(tmp_path)).err
    assert "is empty" in invoke("import", "domains", str(empty)).err
    assert "a picture" in invoke("import", "domains", str(picture)).err
    assert "'Name', 'Town'" in invoke("import", "domains", str(other)).err
    assert from_database(url, select(Domain)) == []


def test_a_domain_is_refreshed_and_deleted_by_its_name(
    invoke: Invoke, url: str, table: Path
) -> None:
    invoke("import", "domains", str(table), "--no-queue")
    said = invoke("domain", "refresh", "www.bakery.example")
    assert said.out == "Home page: queued. Sitemaps: queued.\n"
    [row] = from_database(url, select(Domain).where(Domain.domain == "bakery.example"))
    assert (row.status, row.sitemap_analysis_status) == ("pending", "queued")

    assert "add --yes" in invoke("domain", "delete", "bakery.example").err
    said = invoke("domain", "delete", "bakery.example", "--yes")
    assert said.out == "bakery.example deleted, with 0 rows below it.\n"
    assert from_database(url, select(Domain.domain)) == ["florist.example"]
    assert "There is no domain" in invoke("domain", "refresh", "bakery.example").err
