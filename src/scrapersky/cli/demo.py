"""`scrapersky demo`: a town of sites, taken to their contacts offline."""

from __future__ import annotations

from scrapersky.cli.output import out
from scrapersky.cli.session import run, settings_for_people


def demo() -> int:
    """Take a town of sites on this machine to their contacts, offline, and show them."""
    from scrapersky.demo.run import run_demo

    return run(run_demo(settings_for_people(), out))
