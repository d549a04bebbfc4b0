"""Every error becomes one message and an exit code."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest
import typer
from sqlalchemy.exc import DBAPIError

from scrapersky.cli.errors import run_command
from scrapersky.errors import Conflict, InvalidInput, SettingsError
from tests.cli.conftest import Invoke


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("It does not fit."), 2),
        (SettingsError("X cannot be 1."), 2),
        (Conflict("Not now."), 1),
        (KeyboardInterrupt(), 130),
        (typer.Abort(), 130),
        (BrokenPipeError(), 0),
        (ZeroDivisionError("first line\nsecond line"), 1),
    ],
)
def test_every_error_has_its_code(
    error: BaseException, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    assert run_command(fail) == code
    assert "Traceback" not in capfd.readouterr().err


def test_the_unexpected_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError("first line\nwith a secret")

    run_command(fail)

    said = capsys.readouterr().err
    assert said == (
        "Error: Unexpected error (ZeroDivisionError: first line). "
        "Run with LOG_LEVEL=debug for the traceback.\n"
    )


def test_who_wants_the_traceback_gets_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "debug")

    def fail() -> None:
        raise ZeroDivisionError

    run_command(fail)

    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["scan", "-h"], ["db", "--help"], ["--version"]])
def test_help_and_version_are_no_failures(arguments: list[str], bare_invoke: Invoke) -> None:
    said = bare_invoke(*arguments)

    assert (said.code, said.err) == (0, "")
    assert "scrapersky" in said.out


def test_a_typing_error_is_met_with_a_suggestion(bare_invoke: Invoke) -> None:
    said = bare_invoke("scam")

    assert said.code == 2
    assert "Did you mean 'scan'?" in said.err


def test_a_database_that_went_away_is_called_that(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def connect() -> None:
        await asyncpg.connect(host=str(tmp_path), user="nobody", database="none")

    lost = DBAPIError("SELECT 1", None, OSError("reset"), connection_invalidated=True)

    def lose() -> None:
        raise lost

    def come_too_early() -> None:
        raise asyncpg.CannotConnectNowError("the database system is starting up")

    for command in (lose, come_too_early, lambda: asyncio.run(connect())):
        assert run_command(command) == 1
        assert "The database is unreachable" in capsys.readouterr().err
