"""`scrapersky serve`: run the API, with its schedulers unless they are disabled."""

from __future__ import annotations

from typing import Annotated

import typer

from scrapersky.cli.session import load_service_settings, run_service
from scrapersky.cli.sockets import bind_sockets


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
) -> int:
    """Serve the API and the dashboard and process the queues until Ctrl-C or `kill`."""
    # Importing the web framework is half of the startup time, and no other command needs it.
    from scrapersky.cli.server import refuse_open_exposure, serve_sockets

    settings = load_service_settings()
    sockets = bind_sockets(host, port)
    refuse_open_exposure(settings, sockets)
    return run_service(serve_sockets(settings, sockets))
