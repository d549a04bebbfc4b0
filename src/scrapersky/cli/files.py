"""Choose file formats, read line lists and write files atomically."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from scrapersky.cli.output import note
from scrapersky.errors import InvalidInput
from scrapersky.plurals import pluralise

F = TypeVar("F", bound=StrEnum)

FORMAT_ALIASES = {"ndjson": "jsonl", "pq": "parquet"}


def choose_format(chosen: F | None, file: Path | None, *, default: F) -> F:
    """Return the given format, else the one of the file name, else the default.

    Raises `InvalidInput` when the file name contradicts the given format.
    """
    named = _get_named_format(type(default), file)
    if chosen is not None and named is not None and chosen != named:
        raise InvalidInput(
            f"{file} has the extension of a {named} file, but --format is {chosen}. "
            "Omit --format or rename the file."
        )
    return chosen or named or default


def _get_named_format(formats: type[F], file: Path | None) -> F | None:
    """Return the format of the file's extension; None if there is no file or no such format."""
    suffix = file.suffix.lower().removeprefix(".") if file else ""
    suffix = FORMAT_ALIASES.get(suffix, suffix)
    return next((each for each in formats if each.value == suffix), None)


def note_written(count: int, noun: str, file: Path) -> None:
    note(f"Wrote {count:,} {noun if count == 1 else pluralise(noun)} to {file}.")


@contextmanager
def replace_atomically(target: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces the target when the block succeeds.

    The file is readable by its owner only (0600), regardless of the umask and of the file it
    replaces: it contains personal data.
    """
    temporary = _create_temporary_file(target)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _create_temporary_file(target: Path) -> Path:
    if target.is_dir():
        raise InvalidInput(f"{target} is a directory. Give a file name.")
    try:
        number, path = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidInput(f"Cannot write {target}: {error.strerror}.") from error
    os.close(number)
    return Path(path)


STANDARD_INPUT = "-"
COMMENT_PREFIX = "#"


def read_lines(file: str) -> list[str]:
    """Read the lines of a text file, skipping empty lines and # comments."""
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text.") from error
    lines = (each.strip() for each in text.splitlines())
    return [each for each in lines if each and not each.startswith(COMMENT_PREFIX)]
