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
SUMMARIES = {
    "search": "Find businesses in an area. Results become leads unless --only-list is given.",
    "scan": "Find a site's sitemaps, store their URLs and show a summary.",
    "urls": "List the URLs in a site's sitemaps.",
    "changes": "List the new (+), changed (~) and removed (-) URLs of a site.",
    "leads": "List leads, newest first, with the best contact or the reason there is none.",
    "contacts": "List contacts, newest first.",
    "serve": "Serve the API and the dashboard and process the queues until Ctrl-C or `kill`.",
    "worker": "Process the queues without the API until Ctrl-C or `kill`.",
    "demo": "Run the offline demo: a town of local sites, from search to contacts.",
    "doctor": "Check settings, database and workers. Starts and changes nothing.",
    "alerts": "List firing and recent alerts.",
    "settings": "List every setting with its value and origin. Secrets are hidden.",
    "audit": "List audit log entries, newest first.",
    "db": "Upgrade, back up, restore and open the database.",
    "stage": "List, run, pause and tune the stages of the pipeline.",
    "job": "List, cancel and retry jobs.",
    "batch": "Scan many sites in one batch.",
    "budget": "Show and set the monthly budget for place providers.",
    "import": "Import domains, sitemaps, pages or businesses from a file.",
    "domain": "Rescan or delete a domain.",
    "lead": "Show a lead, or set its curation status.",
    "contact": "Show, add, edit, delete and erase contacts.",
    "suppression": "Manage the suppression list (do not contact).",
    "curate": "Set the curation status of many rows, and undo it.",
    "export": "Export all matching rows of a list to a file.",
    "dead-letter": "List, replay and discard dead letters.",
    "host": "List hosts and reset their circuit breakers.",
    "tenant": "Create and list tenants.",
    "user": "Create, list, change and deactivate users, and set passwords.",
    "api-key": "Create, list, rotate and revoke API keys.",
    "webhook": "Manage webhooks.",
}
"""First line of help of each command, so that `--help` lists them without importing any."""


def _print_version(wanted: bool) -> None:
    if wanted:
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
        context_settings={"help_option_names": ["-h", "--help"]},
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

    Otherwise every name is listed with its summary, which is all that help and the suggestions for
    an unknown command need.
    """
    typed = next((word for word in words if not word.startswith("-")), None)
    if typed in COMMANDS or typed in GROUPS:
        return build_app([typed])
    app = _build_empty_app()
    for name in [*COMMANDS, *GROUPS]:
        app.command(name, help=SUMMARIES[name])(_do_nothing)
    return app


def _do_nothing() -> None: ...


def run_app() -> int:
    """Parse `sys.argv`, run the command and return its exit code."""
    return run_command(
        lambda: build_requested_app(sys.argv[1:])(prog_name="scrapersky", standalone_mode=False)
    )
