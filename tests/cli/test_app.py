"""Help of the command line: complete, and quick because no command is imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from scrapersky.cli.app import build_full_app, build_requested_app
from scripts.make_reference import all_commands

FRAMEWORKS = {"aiohttp", "apscheduler", "asyncpg", "fastapi", "sqlalchemy"}
PRINT_MODULES = """
import json, sys
from scrapersky.cli.app import build_requested_app
for words in json.load(sys.stdin):
    build_requested_app(words)(words, prog_name="scrapersky", standalone_mode=False)
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""
COMMAND_PATHS = [context.command_path.split()[1:] for _, context in all_commands()]


@pytest.mark.parametrize("path", COMMAND_PATHS, ids=" ".join)
def test_help_from_the_index_is_what_the_command_itself_says(path: list[str]) -> None:
    words = [*path, "--help"]
    itself, indexed = (
        CliRunner().invoke(app, words) for app in (build_full_app(), build_requested_app(words))
    )
    assert (itself.exit_code, indexed.exit_code) == (0, 0)
    assert "Usage: " in indexed.output
    assert indexed.output == itself.output


@pytest.mark.parametrize("words", [["--", "--help"], ["--column", "-h", "--", "--help"]])
def test_a_word_that_only_looks_like_help_runs_the_command(words: list[str]) -> None:
    words = ["import", "domains", *words]
    ran = CliRunner().invoke(build_requested_app(words), words)
    assert str(ran.exception).startswith("Cannot read --help")


def test_help_and_version_load_no_framework() -> None:
    """Of all commands in one process, as a process for each takes minutes."""
    ran = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES],
        input=json.dumps([["--version"], *([*path, "--help"] for path in COMMAND_PATHS)]),
        capture_output=True,
        text=True,
        check=True,
    )
    shown, _, loaded = ran.stdout.rpartition("loaded:")
    assert shown.count("Usage: ") == len(COMMAND_PATHS)
    assert "scrapersky" in loaded.split()
    assert set(loaded.split()) & FRAMEWORKS == set()


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("scrapersky", "scrapersky.scraper"),
        ("scrapersky.models", "scrapersky.scraper"),
        ("scrapersky.scraper", "scrapersky.scraper.contacts"),
    ],
)
def test_importing_a_package_does_not_load_what_it_may_not_need(module: str, unwanted: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in ran.stdout.split() if name.startswith(unwanted)] == []
