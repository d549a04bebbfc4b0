"""`scrapersky demo`: a town of sites, taken to their contacts offline."""

from __future__ import annotations

from typing import Annotated

import typer

from scrapersky.cli.listening import bind
from scrapersky.cli.output import out
from scrapersky.cli.session import run, settings_for_people
from scrapersky.settings import Settings


def demo(
    serve: Annotated[
        bool, typer.Option("--serve", help="Then show the town in the dashboard until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --serve: 0 picks one.")] = 8000,
) -> int:
    """Take a town of sites on this machine to their contacts, offline, and show them."""
    from scrapersky.demo.run import run_demo

    if not serve:
        return run(run_demo(settings_for_people(), out))
    from scrapersky.cli.serving import serve_on

    sockets = bind("127.0.0.1", port)

    async def stay(settings: Settings) -> None:
        # The demo's own scheduler goes on with the town.
        await serve_on(settings.model_copy(update={"scheduler_enabled": False}), sockets)

    return run(run_demo(settings_for_people(), out, stay))
