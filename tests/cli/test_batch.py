"""`scrapersky batch`: imports a list, prints a summary, and reports invalid lines."""

from __future__ import annotations

import io
import json
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import select

from scrapersky.models import Batch, Job
from tests.cli.conftest import Invoke, from_database

LIST = "\ufeffbakery.example\n\n# a comment\n  florist.example  \nBAKERY.example\n"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    path = tmp_path / "sites.txt"
    path.write_text(LIST)
    return path


def test_a_list_becomes_a_batch_of_jobs(invoke: Invoke, url: str, listed: Path) -> None:
    said = invoke("batch", "create", str(listed), "--max-pages", "9")

    [batch] = from_database(url, select(Batch))
    jobs = from_database(url, select(Job).order_by(Job.subject))
    assert said.code == 0
    assert said.out == f"Batch {batch.id}: 2 domains accepted, 1 duplicate line.\n"
    assert [each.subject for each in jobs] == ["bakery.example", "florist.example"]
    shown = invoke("batch", "status", str(batch.id))
    assert "0% done" in shown.out
    assert "2 pending." in shown.out
    assert all(str(each.id) in shown.out for each in jobs)


def test_standard_input_is_read(invoke: Invoke, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("bakery.example\n"))
    made = json.loads(invoke("batch", "create", "-", "--json").out)

    assert made["accepted"] == 1
    seen = json.loads(invoke("batch", "status", made["batch_id"], "--json").out)
    assert [each["domain"] for each in seen["items"]] == ["bakery.example"]


def test_bad_lines_are_named_and_the_others_kept(invoke: Invoke, url: str, listed: Path) -> None:
    listed.write_text("bakery.example\ntwo words\n")
    said = invoke("batch", "create", str(listed))

    assert said.code == 3
    assert "two words: " in said.err
    assert "1 domain accepted, 1 rejected" in said.out


def test_what_cannot_be_a_list_is_refused(invoke: Invoke, url: str, tmp_path: Path) -> None:
    empty, binary, bad = (tmp_path / name for name in ("empty", "binary", "bad"))
    empty.write_text("\n# nothing\n")
    binary.write_bytes(b"\xff\xfe\x00")
    bad.write_text("two words\n")

    assert "Cannot read" in invoke("batch", "create", str(tmp_path / "nowhere")).err
    assert "Cannot read" in invoke("batch", "create", str(tmp_path)).err
    assert "is empty" in invoke("batch", "create", str(empty)).err
    assert "is not UTF-8 text" in invoke("batch", "create", str(binary)).err
    assert invoke("batch", "create", str(bad)).code == 1
    assert from_database(url, select(Job)) == []


def test_an_unknown_batch_is_said_so(invoke: Invoke) -> None:
    said = invoke("batch", "status", str(uuid4()))

    assert said.code == 1
    assert "There is no batch" in said.err
