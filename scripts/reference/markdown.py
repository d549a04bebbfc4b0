"""Tables and pages in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MADE_BY = "<!-- Made by scripts/make_reference.py from the program; changes here would be lost. -->"


def one_line(text: str) -> str:
    return " ".join(text.split())


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [titles, ["---"] * len(titles), *rows]
    return [*("| " + " | ".join(map(_cell, line)) + " |" for line in lines), ""]


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def page(*parts: Iterable[str]) -> str:
    lines = [line for part in parts for line in part]
    return "\n".join([MADE_BY, "", *lines]).rstrip() + "\n"
