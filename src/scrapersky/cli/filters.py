"""Filters of a list, as people type them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from scrapersky.errors import InvalidInput

Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help="Only rows of which this holds, as in the list; several may be given.",
    ),
]


def read_filters(filters: Sequence[str]) -> dict[str, Any]:
    """`cms=WordPress` → a filter of the list; one that is given twice means either."""
    given: dict[str, Any] = {}
    for each in filters:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidInput(f"{each} is no filter; write NAME=VALUE, such as status=error.")
        before = given.get(name)
        given[name] = value if before is None else [*_as_list(before), value]
    return given


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
