"""Lists that people keep in text files, one thing per line."""

from __future__ import annotations

import sys
from pathlib import Path

from scrapersky.errors import InvalidInput

STANDARD_INPUT = "-"
COMMENT = "#"


def lines_of(file: str) -> list[str]:
    """Empty lines and those that begin with # are none."""
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is no text in UTF-8.") from error
    lines = (each.strip() for each in text.splitlines())
    return [each for each in lines if each and not each.startswith(COMMENT)]
