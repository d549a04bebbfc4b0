"""Every command, in the order people meet them."""

from __future__ import annotations

from typing import Annotated

import typer

from scrapersky import __version__
from scrapersky.cli import (
    api_key,
    batch,
    contact,
    curate,
    database,
    dead_letter,
    domain,
    export,
    host,
    intake,
    job,
    lead,
    stage,
    suppression,
    tenant,
    user,
)
from scrapersky.cli.alerts import alerts
from scrapersky.cli.audit import audit
from scrapersky.cli.changes import changes
from scrapersky.cli.contact import contacts
from scrapersky.cli.demo import demo
from scrapersky.cli.doctor import doctor
from scrapersky.cli.failures import guarded
from scrapersky.cli.lead import leads
from scrapersky.cli.output import out
from scrapersky.cli.scan import scan
from scrapersky.cli.serve import serve
from scrapersky.cli.settings import settings
from scrapersky.cli.urls import urls
from scrapersky.cli.worker import worker

app = typer.Typer(
    name="scrapersky",
    help="From a site's name to every sitemap and every URL in it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"scrapersky {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Which one.")
    ] = False,
) -> None: ...


for each in (
    scan,
    urls,
    changes,
    leads,
    contacts,
    serve,
    worker,
    demo,
    doctor,
    alerts,
    settings,
    audit,
):
    app.command()(each)
for name, group in {
    "db": database.app,
    "stage": stage.app,
    "job": job.app,
    "batch": batch.app,
    "import": intake.app,
    "domain": domain.app,
    "lead": lead.app,
    "contact": contact.app,
    "suppression": suppression.app,
    "curate": curate.app,
    "export": export.app,
    "dead-letter": dead_letter.app,
    "host": host.app,
    "tenant": tenant.app,
    "user": user.app,
    "api-key": api_key.app,
}.items():
    app.add_typer(group, name=name)


def run_app() -> int:
    """What was typed, from parsing it to the exit code."""
    return guarded(lambda: app(prog_name="scrapersky", standalone_mode=False))
