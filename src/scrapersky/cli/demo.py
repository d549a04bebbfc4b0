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
        bool,
        typer.Option("--serve", help="Then serve the dashboard with the results until Ctrl-C."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port for --serve; 0 picks a free one.")
    ] = 8000,
) -> int:
    """Run the offline demo: a town of local sites, from search to contacts."""
    from scrapersky.demo.run import run_demo

    if not serve:
        return run(run_demo(load_interactive_settings(), out))
    from scrapersky.cli.server import serve_sockets

    sockets = bind_sockets("127.0.0.1", port)

    async def stay(settings: Settings) -> None:
        # The demo's own scheduler keeps processing the town.
        await serve_sockets(settings.model_copy(update={"scheduler_enabled": False}), sockets)

    return run(run_demo(load_interactive_settings(), out, stay))
