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
        help="Filter of the list. Repeatable.",
    ),
]


def parse_filters(filters: Sequence[str]) -> dict[str, Any]:
    """Parse `cms=WordPress` into a filter. A name given twice matches either value."""
    values: dict[str, Any] = {}
    for each in filters:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidInput(
                f"{each} is not a filter. Write NAME=VALUE, for example status=error."
            )
        before = values.get(name)
        values[name] = value if before is None else [*_as_list(before), value]
    return values


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


FILTERS_PARAMETER = "given"
"""Parameter in which a command receives the validated filter values."""
AGE_OPTIONS = {"created_until": "--older-than", "created_since": "--newer-than"}
"""Option names for listings whose rows have a creation time."""

Command = Callable[..., int]


def add_filter_options(listing: Listing, **shorter: str) -> Callable[[Command], Command]:
    """Add an option for each filter of the listing to a command.

    The options are derived from the listing, so that the command line and the API have the same
    filters under the same names. `shorter` gives filters an additional, shorter option name.
    """
    if unknown := shorter.keys() - listing.filter_names:
        raise ValueError(f"{listing.name} has no filter {min(unknown)}")

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run_filtered(**typed: Any) -> int:
            filters = {name: typed.pop(name) for name in listing.filter_model.model_fields}
            return command(given=build_filters(listing, every=True, **filters), **typed)

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
    """Replace the signature, from which Typer reads the parameters."""
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
    """Return `--has-email/--no-email`, `--is-empty/--not-empty`, `--completed/--not-completed`."""
    start, _, rest = name.partition("_")
    refused = {"has": f"no_{rest}", "is": f"not_{rest}"}.get(start, f"not_{name}")
    return f"{_format_option_name(name)}/{_format_option_name(refused)}"


def _get_option_type(annotation: Any) -> tuple[Any, str | None]:
    """Return the option's type and its metavar.

    Everything that is not a boolean, a number or a choice is text; the listing's filter model
    validates it.
    """
    kind = _strip_none(annotation)
    if get_origin(kind) is list:
        one, metavar = _get_option_type(*get_args(kind))
        return list.__class_getitem__(one), metavar
    if get_origin(kind) is Literal:
        # A literal filter takes a single value.
        return StrEnum("Word", {each: each for each in get_args(kind)}), None
    if kind in (bool, int, float):
        return kind, None
    return str, "UUID" if kind is UUID else None


def _strip_none(annotation: Any) -> Any:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return next(each for each in get_args(annotation) if each is not type(None))


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON in the format of the API.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rows.")]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", help="Tenant, by name or id. Default: your own.")
]
StageName = Annotated[str, typer.Argument(help="Stage name; see `scrapersky stage list`.")]


Model = TypeVar("Model", bound=BaseModel)


def validate_input(model: type[Model], **values: Any) -> Model:
    try:
        return model(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][-1]) if first["loc"] else "The input"
        raise InvalidInput(f"{where} is invalid: {first['msg']}.") from None


def check_sort(listing: Listing, text: str) -> str:
    if text.removeprefix("-") not in listing.sorts:
        raise InvalidInput(f"Cannot sort by {text}. Choose one of: {', '.join(listing.sorts)}.")
    return text


def confirm_irreversible(sentence: str, *, yes: bool) -> None:
    """Ask for confirmation of an action that cannot be undone, unless --yes was given."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{sentence} Standard input is not a terminal; add --yes to confirm.")
    typer.confirm(f"{sentence} Continue?", abort=True, err=True)
