"""The product's worker for pages, where some pages are traps: `python -m tests.hostile_worker`."""

from __future__ import annotations

import sys

from scrapersky.cli import worker
from scrapersky.cli.failures import guarded
from scrapersky.cli.session import run_service
from scrapersky.harvest import reading
from scrapersky.logging import configure_logging
from scrapersky.pages.reading import STAGE
from scrapersky.settings import load_settings
from tests.hostile_parser import parse_trap


def main() -> int:
    reading.parse_page = parse_trap
    settings = load_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    return run_service(worker._work(settings, [STAGE]))


if __name__ == "__main__":
    sys.exit(guarded(main))
