"""Options shared by commands, and options generated from a listing's filters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin
from uuid import UUID

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from scrapersky.cli.bulk import build_filters
from scrapersky.errors import InvalidInput
from scrapersky.lists import Listing

FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help="Only rows of which this holds, as in the list; several may be given.",
    ),
]


def parse_filters(filters: Sequence[str]) -> dict[str, Any]:
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


# An option for each filter of a list, made of the list's own declaration: what the API can narrow
# by, the command line can, and under the same name.

FILTERS_PARAMETER = "given"
"""By this name a command takes what was typed, as its list's filters take it."""
AGE_OPTIONS = {"created_until": "--older-than", "created_since": "--newer-than"}
"""As people say it, where rows are as old as they are in our tables."""

Command = Callable[..., int]


def add_filter_options(listing: Listing, **shorter: str) -> Callable[[Command], Command]:
    """The command with an option for each filter of the list; some have a `shorter` name, too."""
    if unknown := shorter.keys() - listing.filter_names:
        raise ValueError(f"{listing.name} has no filter {min(unknown)}")

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run_filtered(**typed: Any) -> int:
            wanted = {name: typed.pop(name) for name in listing.filter_model.model_fields}
            return command(given=build_filters(listing, every=True, **wanted), **typed)

        options = [
            _build_option(*each, shorter) for each in listing.filter_model.model_fields.items()
        ]
        own = inspect.signature(command, eval_str=True).parameters.values()
        _set_signature(
            run_filtered, [*options, *(each for each in own if each.name != FILTERS_PARAMETER)]
        )
        run_filtered.listing = listing  # type: ignore[attr-defined]
        return run_filtered

    return decorate


def _set_signature(command: Command, parameters: list[Parameter]) -> None:
    """What a command is called with is read from its signature."""
    as_options = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(as_options)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in as_options}


def _build_option(name: str, field: FieldInfo, shorter: Mapping[str, str]) -> Parameter:
    kind, metavar = _get_option_type(field.annotation)
    spelled = [shorter[name]] if name in shorter else []
    spelled.append(_format_flag(name) if kind is bool else _format_option_name(name))
    option = typer.Option(*spelled, help=field.description, metavar=metavar)
    annotation: Any = Annotated.__class_getitem__((kind | None, option))  # type: ignore[attr-defined]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _format_option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _format_flag(name: str) -> str:
    """`--has-email/--no-email`, `--is-empty/--not-empty`, `--completed/--not-completed`."""
    start, _, rest = name.partition("_")
    refused = {"has": f"no_{rest}", "is": f"not_{rest}"}.get(start, f"not_{name}")
    return f"{_format_option_name(name)}/{_format_option_name(refused)}"


def _get_option_type(annotation: Any) -> tuple[Any, str | None]:
    """What is typed, and how the help calls it. Whatever is neither yes or no, nor a number, nor
    one of a few words is a text: the list's own model judges it."""
    kind = _strip_none(annotation)
    if get_origin(kind) is list:
        one, metavar = _get_option_type(*get_args(kind))
        return list.__class_getitem__(one), metavar
    if get_origin(kind) is Literal:
        # Of plain words a command takes one, and not several.
        return StrEnum("Word", {each: each for each in get_args(kind)}), None
    if kind in (bool, int, float):
        return kind, None
    return str, "UUID" if kind is UUID else None


def _strip_none(annotation: Any) -> Any:
    """All filters may be left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return next(each for each in get_args(annotation) if each is not type(None))


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as the API would answer.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", help="A tenant's name or id; left out: your own.")
]
StageName = Annotated[str, typer.Argument(help="See `scrapersky stage list`.")]


Model = TypeVar("Model", bound=BaseModel)


def validate_input(model: type[Model], **given: Any) -> Model:
    try:
        return model(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][-1]) if first["loc"] else "It"
        raise InvalidInput(f"{where} does not fit: {first['msg']}.") from None


def check_sort(listing: Listing, text: str) -> str:
    if text.removeprefix("-") not in listing.sorts:
        raise InvalidInput(f"There is no order by {text}; known are {', '.join(listing.sorts)}.")
    return text


def confirm_irreversible(sentence: str, *, yes: bool) -> None:
    """For what cannot be taken back."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Nobody is here to be asked; add --yes if that is meant.")
    typer.confirm(f"{sentence} Go on?", abort=True, err=True)
