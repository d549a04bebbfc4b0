"""An option for each filter of a list, made of the list's own declaration: what the API can narrow
by, the command line can, and under the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

import typer
from pydantic.fields import FieldInfo

from scrapersky.cli.many import narrowed
from scrapersky.http.lists import Listing

GIVEN = "given"
"""By this name a command takes what was typed, as its list's filters take it."""
AGES = {"created_until": "--older-than", "created_since": "--newer-than"}
"""As people say it, where rows are as old as they are in our tables."""

Command = Callable[..., int]


def narrowed_by(listing: Listing, **shorter: str) -> Callable[[Command], Command]:
    """The command with an option for each filter of the list; some have a `shorter` name, too."""
    if unknown := shorter.keys() - listing.filter_names:
        raise ValueError(f"{listing.name} has no filter {min(unknown)}")

    def made(command: Command) -> Command:
        @wraps(command)
        def narrowing(**typed: Any) -> int:
            wanted = {name: typed.pop(name) for name in listing.filter_model.model_fields}
            return command(given=narrowed(listing, every=True, **wanted), **typed)

        options = [_option(*each, shorter) for each in listing.filter_model.model_fields.items()]
        own = inspect.signature(command, eval_str=True).parameters.values()
        _show(narrowing, [*options, *(each for each in own if each.name != GIVEN)])
        narrowing.listing = listing  # type: ignore[attr-defined]
        return narrowing

    return made


def _show(command: Command, parameters: list[Parameter]) -> None:
    """What a command is called with is read from its signature."""
    as_options = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(as_options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in as_options}


def _option(name: str, field: FieldInfo, shorter: Mapping[str, str]) -> Parameter:
    kind, metavar = _typed(field.annotation)
    spelled = [shorter[name]] if name in shorter else []
    spelled.append(_flag(name) if kind is bool else _spelled(name))
    option = typer.Option(*spelled, help=field.description, metavar=metavar)
    annotation: Any = Annotated.__class_getitem__((kind | None, option))  # type: ignore[attr-defined]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flag(name: str) -> str:
    """`--has-email/--no-email`, `--is-empty/--not-empty`, `--completed/--not-completed`."""
    start, _, rest = name.partition("_")
    refused = {"has": f"no_{rest}", "is": f"not_{rest}"}.get(start, f"not_{name}")
    return f"{_spelled(name)}/{_spelled(refused)}"


def _typed(annotation: Any) -> tuple[Any, str | None]:
    """What is typed, and how the help calls it. Whatever is neither yes or no, nor a number, nor
    one of a few words is a text: the list's own model judges it."""
    kind = _without_none(annotation)
    if get_origin(kind) is list:
        one, metavar = _typed(*get_args(kind))
        return list.__class_getitem__(one), metavar
    if get_origin(kind) is Literal:
        # Of plain words a command takes one, and not several.
        return StrEnum("Word", {each: each for each in get_args(kind)}), None
    if kind in (bool, int, float):
        return kind, None
    return str, "UUID" if kind is UUID else None


def _without_none(annotation: Any) -> Any:
    """All filters may be left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return next(each for each in get_args(annotation) if each is not type(None))
