"""Command table and entry point; imports only the module of the command that was typed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from scrapersky import __version__
from scrapersky.cli.errors import run_command
from scrapersky.cli.output import out

COMMANDS = {
    "search": "search",
    "scan": "scan",
    "urls": "urls",
    "changes": "changes",
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
"""Single commands: a function of the same name in this module."""
GROUPS = {
    "db": "database",
    "stage": "stage",
    "job": "job",
    "batch": "batch",
    "budget": "budget",
    "import": "intake",
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
"""Groups of commands: the `app` of this module."""


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"scrapersky {__version__}", highlight=False)
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Which one.")
    ] = False,
) -> None: ...


def build_app(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands and groups."""
    app = typer.Typer(
        name="scrapersky",
        help="From a site's name to every sitemap and every URL in it.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in names:
        if name in COMMANDS:
            app.command()(getattr(_import_command(COMMANDS[name]), name))
        else:
            app.add_typer(_import_command(GROUPS[name]).app, name=name)
    return app


def _import_command(name: str) -> Any:
    return import_module(f"scrapersky.cli.{name}")


@cache
def build_full_app() -> typer.Typer:
    return build_app([*COMMANDS, *GROUPS])


def build_requested_app(words: Sequence[str]) -> typer.Typer:
    """What these words need. All of it for help, and to say what there is instead of a command
    that there is not."""
    typed = next((word for word in words if not word.startswith("-")), None)
    if typed in COMMANDS or typed in GROUPS:
        return build_app([typed])
    return build_app(()) if list(words) == ["--version"] else build_full_app()


def run_app() -> int:
    """What was typed, from parsing it to the exit code."""
    return run_command(
        lambda: build_requested_app(sys.argv[1:])(prog_name="scrapersky", standalone_mode=False)
    )
