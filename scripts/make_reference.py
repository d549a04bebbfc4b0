"""Write the reference pages and `.env.example` from the program itself.

python scripts/make_reference.py            # write what differs
python scripts/make_reference.py --check    # write nothing; exit 1 if anything differs
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from textwrap import wrap
from types import SimpleNamespace
from typing import Any, Literal, cast, get_args, get_origin

import typer
from fastapi.routing import APIRoute
from pydantic.fields import FieldInfo
from typer.main import get_command

from scrapersky.cli import exits
from scrapersky.cli.app import app as command_line
from scrapersky.http.auth import RoleRequired
from scrapersky.main import create_app
from scrapersky.pipeline.chores import Chore
from scrapersky.pipeline.engine import Engine
from scrapersky.pipeline.scheduler import Scheduler
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Pace, Settings, SettingsSource, load_settings
from scrapersky.stages import CHORES, STAGES

ROOT = Path(__file__).resolve().parent.parent
MADE_BY = "<!-- Made by scripts/make_reference.py from the program; changes here would be lost. -->"
DEFAULTS = load_settings(SettingsSource(environ={}, env_file=None))
"""The settings of somebody who has set nothing."""


def pages() -> dict[str, str]:
    """Every generated file's text, by its path in the repository."""
    return {
        "docs/reference/settings.md": settings_page(),
        "docs/reference/stages.md": stages_page(),
        "docs/reference/cli.md": cli_page(),
        "docs/reference/api.md": api_page(),
        ".env.example": env_example(),
    }


def outdated() -> list[str]:
    """The generated files that are not what the program would write now."""
    return [name for name, text in pages().items() if _present(ROOT / name) != text]


def _present(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


# What the source says about itself


def docstrings_of_fields(kind: type) -> dict[str, str]:
    """The string below each field; Python itself throws these away."""
    tree = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = one_line(text)
    return found


def groups_of_fields(kind: type) -> dict[str, list[str]]:
    """Field names under the comment that stands over them."""
    group, found = "", defaultdict(list)
    names = set(kind.__annotations__)
    for line in inspect.getsource(kind).splitlines():
        text = line.strip()
        if text.startswith("# "):
            group = text.removeprefix("# ")
        elif group and (name := text.partition(":")[0]) in names:
            found[group].append(name)
    return dict(found)


# Markdown


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


# Settings


@dataclass(frozen=True)
class Setting:
    """One environment variable."""

    variable: str
    default: str
    """As one would write it; empty where the default is no fixed text."""
    shown_default: str
    values: str
    meaning: str


def settings_by_group() -> dict[str, list[Setting]]:
    meanings = docstrings_of_fields(Settings)
    return {
        group: [
            _setting(name, Settings.model_fields[name], meanings.get(name, "")) for name in all_
        ]
        for group, all_ in groups_of_fields(Settings).items()
    }


def _setting(name: str, info: FieldInfo, meaning: str) -> Setting:
    if info.default_factory is not None:
        shown, default = one_line(inspect.getdoc(info.default_factory) or ""), ""
    else:
        default = as_written(info.default)
        shown = code(default) or "empty"
    return Setting(name.upper(), default, shown, _values(info), meaning)


def stage_settings(stage: AnyStage) -> list[Setting]:
    meanings = docstrings_of_fields(Pace)
    found = []
    for each in fields(Pace):
        default = as_written(getattr(stage.pace, each.name))
        variable = f"{stage.prefix}_{each.name.upper()}"
        kind = "whole number above 0" if each.type == "int" else "number above 0"
        found.append(Setting(variable, default, code(default), kind, meanings.get(each.name, "")))
    return found


def all_variables() -> list[str]:
    ours = [each.variable for group in settings_by_group().values() for each in group]
    return [*ours, *(each.variable for stage in STAGES for each in stage_settings(stage))]


def as_written(value: object) -> str:
    """A default as it would stand in the environment."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(info: FieldInfo) -> str:
    kind: Any = info.annotation
    if get_origin(kind) is Literal:
        return ", ".join(code(each) for each in get_args(kind))
    names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    name = names.get(kind) or ("UUID" if "UUID" in str(kind) else "path")
    return " ".join([name, *_bounds(info)])


def _bounds(info: FieldInfo) -> Iterator[str]:
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    for attribute, word in words.items():
        for each in info.metadata:
            if (bound := getattr(each, attribute, None)) is not None:
                yield f"{word} {bound:,}"


def settings_page() -> str:
    return page(
        [
            "# Settings",
            "",
            "Settings are environment variables, or lines of a file `.env` in the folder the "
            "program is started in; the environment wins over the file, and an empty value counts "
            "as none. A value that cannot be is refused at the start, with the variable's name. "
            "[`.env.example`](../../.env.example) lists them all, ready to be copied.",
            "",
        ],
        *(_settings_section(f"## {name}", all_) for name, all_ in settings_by_group().items()),
        [
            "## Stages",
            "",
            "Each [stage](stages.md) has six settings under a prefix of its own.",
            "",
        ],
        *(_settings_section(f"### {each.name}", stage_settings(each)) for each in STAGES),
    )


def _settings_section(title: str, settings: Sequence[Setting]) -> list[str]:
    rows = [(code(s.variable), s.shown_default, s.values, s.meaning) for s in settings]
    return [title, "", *table(("Variable", "Default", "Values", "Meaning"), rows)]


def env_example() -> str:
    groups = {
        **settings_by_group(),
        **{f"Stage {each.name}": stage_settings(each) for each in STAGES},
    }
    head = [
        "# Every setting with its default. Copy this file to .env and take the # off what you",
        "# change. Made by scripts/make_reference.py; docs/reference/settings.md says the same.",
    ]
    lines = [line for name, all_ in groups.items() for line in _env_group(name, all_)]
    return "\n".join([*head, *lines]) + "\n"


def _env_group(name: str, settings: Sequence[Setting]) -> Iterator[str]:
    yield from ("", f"## {name}")
    for each in settings:
        hint = "" if each.default or each.shown_default == "empty" else each.shown_default
        yield ""
        yield from wrap(
            " ".join(filter(None, (each.meaning, hint))),
            width=98,
            initial_indent="# ",
            subsequent_indent="# ",
        )
        yield f"#{each.variable}={each.default}"


# Stages and chores


def all_chores() -> Sequence[Chore]:
    """As a scheduler has them: the engine's own, then everybody else's."""
    unused = cast(Engine, SimpleNamespace(settings=DEFAULTS, failures={}))
    return Scheduler(unused, CHORES).chores


def stages_page() -> str:
    chores = [
        (code(each.name), f"{each.every.total_seconds():g} seconds", each.does)
        for each in all_chores()
    ]
    return page(
        [
            "# Stages and chores",
            "",
            "Rows travel through the stages in this order. A stage looks at its queue at every "
            "tick and whenever a row was queued; its words are what stands in its status column. "
            "What the words of this page mean is in the [glossary](../glossary.md), what the "
            "settings do in [settings](settings.md#stages).",
            "",
        ],
        *(_stage_section(each) for each in STAGES),
        [
            "## Chores",
            "",
            "Housekeeping, done once in each interval by one of the running processes.",
            "",
            *table(("Chore", "Every", "What it does"), chores),
        ],
    )


def _stage_section(stage: AnyStage) -> list[str]:
    words, queue, pace = stage.words, stage.queue, stage.pace
    only = " and ".join(f"{name} = {value}" for name, value in stage.only.items())
    where = code(f"{stage.model.__tablename__}.{stage.status}")
    columns = (queue.due_at, queue.attempts, queue.lease_token, queue.lease_expires_at)
    rest = (queue.worker_id, queue.error)
    facts = {
        "Rows": f"{where}, where {code(only)}" if only else where,
        "Words": f"{words.queued} → {words.processing} → {words.done} or {words.failed}",
        "Queue columns": ", ".join(code(each.key) for each in (*columns, *rest)),
        "Order": f"{code(stage.priority)}, then due time" if stage.priority else "due time",
        "Settings prefix": code(stage.prefix),
        "Tick": _every(pace.interval_minutes),
        "One claim takes": f"up to {pace.batch_size} rows",
        "Runs at once": f"up to {pace.max_instances} in a process",
        "Rows at once": f"up to {pace.concurrency} in a process",
        "Timeout": f"{pace.timeout_seconds:g} seconds for one attempt",
        "Attempts": f"{pace.max_attempts}, then a dead letter",
        "Feeds": ", ".join(map(code, stage.feeds)) or "nothing further yet",
        "Also known as": ", ".join(map(code, stage.aliases)) or "nothing else",
    }
    return [f"## {stage.name}", "", stage.does, "", *table(("", ""), facts.items())]


def _every(minutes: float) -> str:
    return "every minute" if minutes == 1 else f"every {minutes:g} minutes"


# Command line


def cli_page() -> str:
    return page(
        [
            "# Command line",
            "",
            "`.venv/bin/scrapersky`, or `python -m scrapersky`. Every command explains itself with "
            "`--help`.",
            "",
            "## Exit codes",
            "",
            *table(("Code", "Word", "Meaning"), exit_codes()),
        ],
        *(_command_section(command, context) for command, context in all_commands()),
    )


def exit_codes() -> Iterator[tuple[str, str, str]]:
    meanings = docstrings_of_fields(exits.Exit)
    for each in exits.Exit:
        yield str(each.value), each.name.lower(), meanings.get(each.name, "")


def all_commands() -> Iterator[tuple[Any, typer.Context]]:
    """Every command and group with a context that knows its name, parents first."""
    waiting: list[tuple[Any, str, typer.Context | None]] = [
        (get_command(command_line), "scrapersky", None)
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


# API


def api_page() -> str:
    described = create_app(DEFAULTS).openapi()
    roles = dict(_roles())
    routes = [
        (method.upper(), path, operation)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    overview = [
        (
            f"[`{method} {path}`](#{_anchor(f'{method} {path}')})",
            roles[method, path],
            each["summary"],
        )
        for method, path, each in routes
    ]
    return page(
        [
            "# HTTP API",
            "",
            "The running program describes itself at `GET /openapi.json`; this page is made from "
            "the same description. With `AUTH_MODE=required` send a key as `Authorization: Bearer "
            "KEY` or `X-API-Key: KEY`; a role includes those before it: viewer, curator, admin. "
            "Whatever goes wrong is answered as a [problem document](#problem) "
            "(`application/problem+json`) with a sentence in `detail` and a `request_id` that "
            "stands in the log too.",
            "",
            *table(("Route", "Role", "What it is for"), overview),
        ],
        *(_route_section(method, path, each, roles[method, path]) for method, path, each in routes),
        ["## Bodies", "", "A field with a question mark may be left out.", ""],
        *(_schema_section(name, each) for name, each in _schemas(described)),
    )


def _schemas(described: Mapping[str, Any]) -> list[tuple[str, Any]]:
    # Answered by the framework only where we do not answer ourselves, which is nowhere.
    unused = ("HTTPValidationError", "ValidationError")
    return [(n, s) for n, s in described["components"]["schemas"].items() if n not in unused]


def _roles() -> Iterator[tuple[tuple[str, str], str]]:
    """(method, path) → the role its guard asks for."""
    waiting: list[tuple[str, Any]] = [("", each) for each in create_app(DEFAULTS).routes]
    while waiting:
        prefix, route = waiting.pop()
        included = getattr(route, "original_router", None)
        if included is not None:
            deeper = prefix + route.include_context.prefix
            waiting += [(deeper, each) for each in included.routes]
        elif isinstance(route, APIRoute):
            for method in route.methods or ():
                yield (method, prefix + route.path_format), _role_of(route.dependant)


def _role_of(dependant: Any) -> str:
    calls = [each.call for each in dependant.dependencies]
    return next((each.role.value for each in calls if isinstance(each, RoleRequired)), "public")


def _anchor(title: str) -> str:
    return "".join(
        each for each in title.lower().replace(" ", "-") if each.isalnum() or each in "-_"
    )


def _route_section(method: str, path: str, operation: Mapping[str, Any], role: str) -> list[str]:
    given = [
        (code(each["name"]), each["in"], _kind(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return [
        f"## {method} {path}",
        "",
        f"{_sentence(operation['summary'])} {one_line(operation.get('description', ''))}".strip(),
        "",
        f"- Role: {role}",
        *([f"- Body: {_kind(body['schema'])}"] if body else []),
        *_answers(operation["responses"]),
        "",
        *(table(("Parameter", "In", "Value", "Meaning"), given) if given else []),
    ]


def _sentence(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def _answers(responses: Mapping[str, Any]) -> Iterator[str]:
    problems = sorted(each for each in responses if _is_problem(responses[each]))
    for status in sorted(set(responses) - set(problems)):
        kinds = responses[status].get("content", {})
        shown = [_kind(each["schema"]) for each in kinds.values() if each.get("schema")]
        other = [code(name) for name, each in kinds.items() if not each.get("schema")]
        said = responses[status]["description"].replace("Successful Response", "")
        parts = (", ".join([*shown, *other]), said)
        yield f"- {status}: {'. '.join(filter(None, parts))}"
    if problems:
        yield f"- Problems: {', '.join(problems)}"


def _is_problem(response: Mapping[str, Any]) -> bool:
    return "application/problem+json" in response.get("content", {})


def _schema_section(name: str, schema: Mapping[str, Any]) -> list[str]:
    values = schema.get("enum")
    needed = schema.get("required", ())
    rows = [
        (code(field) + ("" if field in needed else "?"), _kind(each), _explained(each))
        for field, each in schema.get("properties", {}).items()
    ]
    said = one_line(schema.get("description", ""))
    return [
        f"### {name}",
        "",
        *([said, ""] if said else []),
        *(["One of " + ", ".join(map(code, values)) + ".", ""] if values else []),
        *(table(("Field", "Value", "Meaning"), rows) if rows else []),
    ]


def _explained(schema: Mapping[str, Any]) -> str:
    example = next(iter(schema.get("examples", ())), None)
    shown = f"For example `{example}`." if isinstance(example, str | int | float) else ""
    return " ".join(filter(None, (schema.get("description", ""), shown)))


def _kind(schema: Mapping[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"])) + _default(schema)
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    name = str(schema.get("format") or schema.get("type") or "anything")
    bounds = [
        f"{word} {_number(schema[key])}"
        for key, word in {"minimum": "from", "maximum": "to", "maxLength": "length up to"}.items()
        if key in schema
    ]
    return " ".join([name, *bounds]) + _default(schema)


def _number(bound: float) -> str:
    """OpenAPI writes bounds of whole numbers as floats, depending on where they were declared."""
    return f"{int(bound):,}" if bound == int(bound) else str(bound)


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return f", default `{default}`" if default is not None else ""


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"{(__doc__ or '').strip()}\n")
        return 2
    differ = outdated()
    if arguments:
        sys.stdout.writelines(f"{name} is out of date.\n" for name in differ)
        return 1 if differ else 0
    written = pages()
    for name in differ:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(written[name], encoding="utf-8")
        sys.stdout.write(f"{name} written.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
