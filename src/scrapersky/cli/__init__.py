"""The command line: one module per command or command group, loaded only when typed.

`app` lists them; `session` opens what they work on; `failures` turns what goes wrong into one
sentence and an exit code.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point of `scrapersky` and `python -m scrapersky`."""
    try:
        # Loading takes a while, and Ctrl-C in that while is no reason for a traceback.
        from scrapersky.cli.app import run_app

        sys.exit(run_app())
    except KeyboardInterrupt:
        sys.exit(130)
