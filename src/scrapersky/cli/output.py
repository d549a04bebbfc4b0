"""Console output: tables, JSON, notes, and formats for counts, times and statuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapersky.plurals import pluralise

PIPE_WIDTH = 10_000
"""Width when the output is not a terminal: cut or wrapped lines are useless to `grep`."""

STATUS_COLOURS = {
    "ok": "green",
    "complete": "green",
    "processing": "cyan",
    "partial": "yellow",
    "pending": "yellow",
    "refused": "yellow",
    "open": "yellow",
    "error": "red",
    "failed": "red",
    "cancelled": "magenta",
}


def _build_console(*, stderr: bool) -> Console:
    screen = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if screen else PIPE_WIDTH)


out = _build_console(stderr=False)
err = _build_console(stderr=True)


def note(sentence: str) -> None:
    """Print a note to standard error; it is never part of the result."""
    err.print(sentence, markup=False, highlight=False, soft_wrap=True)


def print_json(value: BaseModel | Sequence[BaseModel]) -> None:
    """Print one JSON document in the format of the API."""
    plain: Any = (
        value.model_dump(mode="json")
        if isinstance(value, BaseModel)
        else [each.model_dump(mode="json") for each in value]
    )
    sys.stdout.write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def build_table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(
            name, justify="right" if name in right else "left", overflow="fold", no_wrap=False
        )
    return table


def print_table(table: Table) -> None:
    """Print a table. In a pipe, lines have no trailing spaces."""
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        sys.stdout.write(line.rstrip() + "\n")


def format_status(word: str) -> Text:
    return Text(word, style=STATUS_COLOURS.get(word, ""))


def format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else pluralise(noun)}"


def format_time(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def format_duration(seconds: float) -> str:
    """Format seconds as `0:07`, `12:34` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
