"""Help of the command line: complete, and quick because no command is imported for it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import getdoc

import pytest

from scrapersky.cli.app import COMMANDS, GROUPS, SUMMARIES

FRAMEWORKS = {"aiohttp", "apscheduler", "asyncpg", "fastapi", "sqlalchemy"}
PRINT_MODULES = """
import sys
from scrapersky.cli.app import build_requested_app
try:
    build_requested_app(sys.argv[1:])(sys.argv[1:], prog_name="scrapersky", standalone_mode=False)
finally:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_the_summaries_in_help_are_those_of_the_commands() -> None:
    def get_first_line(name: str) -> str:
        if name in COMMANDS:
            documented = getdoc(getattr(import_module(f"scrapersky.cli.{COMMANDS[name]}"), name))
        else:
            documented = import_module(f"scrapersky.cli.{GROUPS[name]}").app.info.help
        return (documented or "").split("\n\n")[0].replace("\n", " ")

    assert {name: get_first_line(name) for name in [*COMMANDS, *GROUPS]} == SUMMARIES


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_no_framework(option: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES, option], capture_output=True, text=True, check=False
    )
    loaded = set(ran.stdout.rpartition("loaded:")[2].split())
    assert "scrapersky" in loaded, ran.stderr
    assert loaded & FRAMEWORKS == set()


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
