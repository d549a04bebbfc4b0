"""Command table and entry point. Only the module of the requested command is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from scrapersky import __version__
from scrapersky.cli.errors import run_command
from scrapersky.cli.help import HELP_OPTIONS, add_described, add_summary, is_help_requested
from scrapersky.cli.output import out

COMMANDS = {
    "search": "search",
    "scan": "scan",
    "urls": "urls",
    "changes": "urls",
    "leads": "lead",
    "contacts": "contact",
    "serve": "serve",
    "worker": "worker",
    "demo": "demo",
    "doctor": "doctor",
    "alerts": "alerts",
    "settings": "settings",
    "audit": "audit",
}
"""Single commands: command name → module with a function of that name."""
GROUPS = {
    "db": "database",
    "stage": "stage",
    "job": "job",
    "batch": "batch",
    "budget": "budget",
    "import": "imports",
    "domain": "domain",
    "lead": "lead",
    "contact": "contact",
    "suppression": "suppression",
    "curate": "curate",
    "export": "export",
    "dead-letter": "dead_letter",
    "host": "host",
    "tenant": "tenant",
    "user": "user",
    "api-key": "api_key",
    "webhook": "webhook",
}
"""Command groups: group name → module with an `app`."""


def _print_version(is_requested: bool) -> None:
    if is_requested:
        out.print(f"scrapersky {__version__}", highlight=False)
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None: ...


def build_app(names: Iterable[str]) -> typer.Typer:
    """Build a Typer app with these commands and groups."""
    app = _build_empty_app()
    for name in names:
        if name in COMMANDS:
            app.command()(getattr(_import_command(COMMANDS[name]), name))
        else:
            app.add_typer(_import_command(GROUPS[name]).app, name=name)
    return app


def _build_empty_app() -> typer.Typer:
    app = typer.Typer(
        name="scrapersky",
        help="Find businesses, scan their websites and collect contacts and leads.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": list(HELP_OPTIONS)},
    )
    app.callback()(_options)
    return app


def _import_command(name: str) -> Any:
    return import_module(f"scrapersky.cli.{name}")


@cache
def build_full_app() -> typer.Typer:
    return build_app([*COMMANDS, *GROUPS])


def build_requested_app(words: Sequence[str]) -> typer.Typer:
    """Build an app with only the requested command.

    For its help, the index describes it. Without a command, every name is listed with its summary,
    which is all that help and the suggestions for an unknown command need.
    """
    typed = next((word for word in words if not word.startswith("-")), None)
    if typed not in COMMANDS and typed not in GROUPS:
        app = _build_empty_app()
        for name in [*COMMANDS, *GROUPS]:
            add_summary(app, name)
        return app
    if not is_help_requested(words):
        return build_app([typed])
    app = _build_empty_app()
    add_described(app, typed, lambda: _run(build_app([typed]), words))
    return app


def _run(app: typer.Typer, words: Sequence[str]) -> Any:
    return app(list(words), prog_name="scrapersky", standalone_mode=False)


def run_app() -> int:
    """Parse `sys.argv`, run the command and return its exit code."""
    words = sys.argv[1:]
    return run_command(lambda: _run(build_requested_app(words), words))
