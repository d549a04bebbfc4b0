"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrapersky.errors import InvalidInput


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path to write to; it takes the target's place when the block ends well. Only its owner can
    read the file (0600), whatever the umask and the file that was there before: what we write
    holds people's data."""
    made = _beside(target)
    try:
        yield made
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _beside(target: Path) -> Path:
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder; name a file.")
    try:
        number, path = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}.") from error
    os.close(number)
    return Path(path)
