"""Command-line interface: one module per command or command group, imported on demand.

`app` holds the command table, `session` opens the resources a command needs, and `errors` maps
exceptions to a one-line message and an exit code.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `scrapersky` and `python -m scrapersky`."""
    try:
        # Imports take a while. Ctrl-C during them must not print a traceback.
        from scrapersky.cli.app import run_app

        sys.exit(run_app())
    except KeyboardInterrupt:
        sys.exit(130)
