"""`scrapersky serve`: the API, with its schedulers unless they run elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from scrapersky.cli.listening import bind
from scrapersky.cli.session import run_service, settings_for_service


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8000,
) -> int:
    """Serve the API and work the queues until Ctrl-C or `kill`."""
    # The framework is half of what the program loads, and no other command needs it.
    from scrapersky.cli.serving import refuse_open_to_others, serve_on

    settings = settings_for_service()
    sockets = bind(host, port)
    refuse_open_to_others(settings, sockets)
    return run_service(serve_on(settings, sockets))
