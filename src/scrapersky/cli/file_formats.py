"""Which format a file is written in: as its name says, unless it says nothing."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from scrapersky.cli.output import note
from scrapersky.errors import InvalidInput

F = TypeVar("F", bound=StrEnum)

ALSO_CALLED = {"ndjson": "jsonl", "pq": "parquet"}


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
    suffix = ALSO_CALLED.get(suffix, suffix)
    return next((each for each in formats if each.value == suffix), None)


def note_written(count: int, noun: str, file: Path) -> None:
    note(f"Wrote {count:,} {noun if count == 1 else f'{noun}s'} to {file}.")
