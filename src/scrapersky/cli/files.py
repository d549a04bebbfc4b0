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

F = TypeVar("F", bound=StrEnum)

FORMAT_ALIASES = {"ndjson": "jsonl", "pq": "parquet"}


def choose_format(given: F | None, file: Path | None, *, default: F) -> F:
    """The format that was given, else that of the file's name, else the default.

    Raises `InvalidInput` when the file's name says another format than the one that was given.
    """
    named = _get_named_format(type(default), file)
    if given is not None and named is not None and given != named:
        raise InvalidInput(
            f"{file} is named as a {named} file and --format says {given}. "
            "Leave --format out, or name the file differently."
        )
    return given or named or default


def _get_named_format(formats: type[F], file: Path | None) -> F | None:
    """None where there is no file, or its name ends in nothing that is a format."""
    suffix = file.suffix.lower().removeprefix(".") if file else ""
    suffix = FORMAT_ALIASES.get(suffix, suffix)
    return next((each for each in formats if each.value == suffix), None)


def note_written(count: int, noun: str, file: Path) -> None:
    note(f"Wrote {count:,} {noun if count == 1 else f'{noun}s'} to {file}.")


@contextmanager
def replace_atomically(target: Path) -> Iterator[Path]:
    """A path to write to; it takes the target's place when the block ends well. Only its owner can
    read the file (0600), whatever the umask and the file that was there before: what we write
    holds people's data."""
    made = _create_temporary_file(target)
    try:
        yield made
        with made.open("rb") as file:
            os.fsync(file.fileno())
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _create_temporary_file(target: Path) -> Path:
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder; name a file.")
    try:
        number, path = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}.") from error
    os.close(number)
    return Path(path)


STANDARD_INPUT = "-"
COMMENT_PREFIX = "#"


def read_lines(file: str) -> list[str]:
    """Empty lines and those that begin with # are none."""
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is no text in UTF-8.") from error
    lines = (each.strip() for each in text.splitlines())
    return [each for each in lines if each and not each.startswith(COMMENT_PREFIX)]
