"""What is logged, and what never is."""

from __future__ import annotations

import json

import pytest

from scrapersky.logging import configure_logging, get_logger
from scrapersky.settings import SettingsSource, load_settings

CANARY = "HUNTER2-canary"


@pytest.mark.parametrize("style", ["console", "json"])
def test_a_logged_failure_shows_no_secret_of_the_settings(
    style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(level="debug", style=style)
    settings = load_settings(
        SettingsSource(environ={"DATABASE_URL": f"postgresql://u:{CANARY}@db/x"}, env_file=None)
    )
    try:
        raise RuntimeError("it broke", settings)
    except RuntimeError:
        get_logger("test").exception("work failed", settings=settings)
    said = capsys.readouterr().err
    configure_logging(level="error")

    assert "it broke" in said
    assert CANARY not in said


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(level="info", style="json")
    get_logger("test").info("run", stage="noop", found=3)
    line = json.loads(capsys.readouterr().err)
    configure_logging(level="error")

    assert (line["event"], line["stage"], line["found"]) == ("run", "noop", 3)
