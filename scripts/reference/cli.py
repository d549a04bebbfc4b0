"""Every command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args, get_origin

import typer
from typer.main import get_command

from scrapersky.cli import errors
from scrapersky.cli.app import build_full_app
from scripts.reference.markdown import code, one_line, page, table
from scripts.reference.source import docstrings_of_fields


def cli_page() -> str:
    return page(
        [
            "# Command line",
            "",
            "`.venv/bin/scrapersky`, or `.venv/bin/python -m scrapersky`. Every command explains "
            "itself with `--help`.",
            "",
            "## Exit codes",
            "",
            *table(("Code", "Word", "Meaning"), exit_codes()),
        ],
        *(_command_section(command, context) for command, context in all_commands()),
    )


def help_index() -> str:
    """Every command as `scrapersky.cli.help` needs it, one per line."""
    index = {
        context.command_path.partition(" ")[2]: _describe(command)
        for command, context in all_commands()
        if context.parent
    }
    lines = (f"{_dump(path)}: {_dump(described)}" for path, described in index.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _describe(command: Any) -> dict[str, Any]:
    described = {
        "help": command.help or "",
        "settings": command.context_settings,
        "params": [_describe_parameter(each) for each in command.params],
    }
    if hasattr(command, "commands"):
        names = ("no_args_is_help", "invoke_without_command")
        described["group"] = {name: getattr(command, name) for name in names}
    return described


def _describe_parameter(parameter: Any) -> dict[str, Any]:
    kind = parameter.type_descriptor.annotation
    one = get_args(kind)[0] if get_origin(kind) is list else kind
    is_enum = issubclass(one, Enum)
    default = parameter.default
    opts = list(parameter.opts) if parameter.param_type_name == "option" else []
    if parameter.secondary_opts:
        opts[-1] += "/" + "/".join(parameter.secondary_opts)
    described = {
        "name": parameter.name,
        "opts": opts,
        "help": parameter.help,
        "type": [each.value for each in one] if is_enum else one.__name__,
        "is_list": one is not kind,
        "required": parameter.required,
        "default": default.value if isinstance(default, Enum) else default,
        "metavar": parameter.metavar,
        "min": parameter.min,
        "max": parameter.max,
    }
    return {
        name: value
        for name, value in described.items()
        if value not in (None, []) and (value is not False or name == "default")
    }


def exit_codes() -> Iterator[tuple[str, str, str]]:
    meanings = docstrings_of_fields(errors.ExitCode)
    for each in errors.ExitCode:
        yield str(each.value), each.name.lower(), meanings.get(each.name, "")


def all_commands() -> Iterator[tuple[Any, typer.Context]]:
    """Every command and group with a context that knows its name, parents first."""
    waiting: list[tuple[Any, str, typer.Context | None]] = [
        (get_command(build_full_app()), "scrapersky", None)
    ]
    while waiting:
        command, name, parent = waiting.pop(0)
        context = typer.Context(command, info_name=name, parent=parent)
        yield command, context
        below = getattr(command, "commands", {})
        waiting = [*((each, name, context) for name, each in below.items()), *waiting]


def _command_section(command: Any, context: typer.Context) -> list[str]:
    path = context.command_path
    below = getattr(command, "commands", {})
    given = [(_given_name(each), each.get_help_record(context)) for each in command.params]
    rows = [(code(name), (record or ("", ""))[1]) for name, record in given]
    usage = " ".join([path, *_usage_of(command)])
    return [
        f"{'#' * (1 + min(len(path.split()), 3))} {path}",
        "",
        one_line(command.help or ""),
        "",
        *([] if below else ["```sh", usage, "```", ""]),
        *(table(("Argument or option", "Meaning"), rows) if rows else []),
    ]


def _usage_of(command: Any) -> Iterator[str]:
    options = [each for each in command.params if each.param_type_name == "option"]
    if options:
        yield "[OPTIONS]"
    for each in command.params:
        if each.param_type_name == "argument":
            name = _given_name(each)
            yield name if each.required else f"[{name}]"
    if command.context_settings.get("allow_extra_args"):
        yield "[...]"


def _given_name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.name.upper()
        return f"{name}..." if parameter.nargs == -1 else str(name)
    names = ", ".join(parameter.opts)
    return names if parameter.is_flag else f"{names} {_value_name(parameter)}"


def _value_name(parameter: Any) -> str:
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(each.value) for each in kind)
    return str(parameter.name).upper()
