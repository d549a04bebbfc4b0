"""The page worker with pages that hang or exhaust memory: `python -m tests.hostile_worker`."""

from __future__ import annotations

import sys

from scrapersky.cli import worker
from scrapersky.cli.errors import run_command
from scrapersky.cli.session import run_service
from scrapersky.contacts import page_parser
from scrapersky.contacts.extraction import STAGE
from scrapersky.logging import configure_logging
from scrapersky.settings import load_settings
from tests.hostile_parser import parse_trap


def main() -> int:
    page_parser.parse_page = parse_trap
    settings = load_settings()
    configure_logging(level=settings.log_level, style=settings.log_format)
    return run_service(worker._run_worker(settings, [STAGE]))


if __name__ == "__main__":
    sys.exit(run_command(main))
