"""`scrapersky demo`: a small town of sites, scanned offline."""

from __future__ import annotations

from scrapersky.cli.output import out
from scrapersky.cli.session import run, settings_for_people


def demo() -> int:
    """Scan a small town of sites on this machine, offline, and show what was found."""
    from scrapersky.demo.run import run_demo

    return run(run_demo(settings_for_people(), out))
