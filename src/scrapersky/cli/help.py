"""Help from an index of all commands, so that `--help` imports no command and no framework.

The options of many commands follow from the lists, enums and limits of the features, and importing
those takes seconds. `help.json` describes every command as Typer built it. `make reference` writes
it, and tests compare it with the commands.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

INDEX = Path(__file__).with_name("help.json")
HELP_OPTIONS = ("-h", "--help")
TYPES: Mapping[str, type] = {
    each.__name__: each for each in (bool, int, float, str, UUID, datetime, Path)
}

Run = Callable[[], Any]


def is_help_requested(words: Sequence[str]) -> bool:
    return any(word in HELP_OPTIONS for word in words)


@cache
def load_index() -> Mapping[str, Mapping[str, Any]]:
    """Return the descriptions of all commands and groups by path, such as `db` and `db upgrade`.

    What is false, empty or absent of a parameter is left out.
    """
    index: Mapping[str, Mapping[str, Any]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return index


def add_summary(app: typer.Typer, name: str) -> None:
    """Add a command that is only listed."""
    app.command(name, help=load_index()[name]["help"])(lambda: None)


def add_described(app: typer.Typer, name: str, run: Run) -> None:
    """Add a command or group as the index describes it.

    `run` is called instead of its function: the word `--help` may turn out to be a value.
    """
    below = [path for path in load_index() if path.startswith(f"{name} ")]
    described = load_index()[name]
    if not below:
        _add_command(app, name, described, run)
        return
    group = typer.Typer(**described["group"], help=described["help"])
    if described["params"]:
        group.callback()(_build_function(described["params"], run))
    for path in below:
        _add_command(group, path.removeprefix(f"{name} "), load_index()[path], run)
    app.add_typer(group, name=name)


def _add_command(app: typer.Typer, name: str, described: Mapping[str, Any], run: Run) -> None:
    function = _build_function(described["params"], run)
    app.command(name, help=described["help"], context_settings=described["settings"])(function)


def _build_function(params: Sequence[Mapping[str, Any]], run: Run) -> Callable[..., Any]:
    def function(context: typer.Context, **_: Any) -> Any:
        # A group's function is called before that of the command below it.
        return run() if context.invoked_subcommand is None else None

    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for each in params:
        default = Parameter.empty if each.get("required") else each.get("default")
        annotation = _build_annotation(each)
        parameters.append(
            Parameter(each["name"], Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    return function


def _build_annotation(described: Mapping[str, Any]) -> Any:
    """Build the annotation from which Typer makes the same parameter."""
    kind = _get_type(described["type"])
    if described.get("is_list"):
        kind = list.__class_getitem__(kind)
    opts = described.get("opts", ())
    declare: Any = typer.Option if opts else typer.Argument
    options = {name: described.get(name) for name in ("help", "metavar", "min", "max")}
    return Annotated.__class_getitem__((kind | None, declare(*opts, **options)))  # type: ignore[attr-defined]


def _get_type(described: str | list[str]) -> Any:
    """Return the type of this name, or an enum of these choices."""
    if isinstance(described, str):
        return TYPES[described]
    return StrEnum("Choice", {each: each for each in described})
