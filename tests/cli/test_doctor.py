"""`doctor`: says what is wrong and what to do, and leaves everything as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapersky.db.embedded import EmbeddedPostgres
from scrapersky.db.migrate import head_revision
from tests.cli.conftest import Invoke


def test_a_healthy_database(invoke: Invoke) -> None:
    said = invoke("doctor")

    assert said.code == 0, said
    assert "✗" not in said.out
    assert f"At revision {head_revision()}, as it should be." in said.out
    assert "All is well." in said.out


@pytest.mark.usefixtures("asked")
def test_rows_that_nobody_works_are_told(invoke: Invoke) -> None:
    said = invoke("doctor")

    assert said.code == 1
    assert "no consumer runs this stage" in said.out


def test_a_database_that_is_behind(invoke: Invoke, empty_url: str) -> None:
    said = invoke("doctor", DATABASE_URL=empty_url)

    assert said.code == 1
    assert "run `scrapersky db upgrade`" in said.out


def test_a_database_that_does_not_answer(invoke: Invoke) -> None:
    said = invoke("doctor", DATABASE_URL="postgresql://me:secret@127.0.0.1:1/none")

    assert said.code == 1
    assert "The database at 127.0.0.1:1 does not let us in" in said.out
    assert "secret" not in said.out + said.err


def test_a_setting_that_cannot_be(invoke: Invoke) -> None:
    said = invoke("doctor", SITEMAP_SCHEDULER_BATCH_SIZE="many")

    assert said.code == 1
    assert "SITEMAP_SCHEDULER_BATCH_SIZE cannot be 'many'" in said.out


def test_nothing_is_started_for_it(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "data"

    said = invoke("doctor", DATABASE_URL="", SCRAPERSKY_DATA_DIR=str(folder))

    assert said.code == 0, said
    assert "Not running; it starts when it is needed." in said.out
    assert not folder.exists()


def test_a_running_embedded_server_is_looked_at(invoke: Invoke, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    postgres = EmbeddedPostgres(tmp_path / "data")
    postgres.acquire()
    try:
        said = invoke("doctor", DATABASE_URL="", SCRAPERSKY_DATA_DIR=str(tmp_path / "data"))
    finally:
        postgres.release()
        postgres.destroy()

    assert said.code == 0, said
    assert "PostgreSQL 18" in said.out
    assert "No tables yet" in said.out
