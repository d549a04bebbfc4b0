"""`scrapersky demo`: run the offline demo."""

from __future__ import annotations

from typing import Annotated

import typer

from scrapersky.cli.output import out
from scrapersky.cli.session import load_interactive_settings, run
from scrapersky.cli.sockets import bind_sockets
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
        return run(run_demo(load_interactive_settings(), out))
    from scrapersky.cli.server import serve_sockets

    sockets = bind_sockets("127.0.0.1", port)

    async def stay(settings: Settings) -> None:
        # The demo's own scheduler goes on with the town.
        await serve_sockets(settings.model_copy(update={"scheduler_enabled": False}), sockets)

    return run(run_demo(load_interactive_settings(), out, stay))
