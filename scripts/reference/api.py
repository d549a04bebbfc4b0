"""Every route and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi.routing import APIRoute

from scrapersky.http.auth import RoleRequired
from scrapersky.main import create_app
from scripts.reference.markdown import code, one_line, page, table
from scripts.reference.source import DEFAULTS


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
            "This page is generated from the OpenAPI document, which the server provides at "
            "`GET /openapi.json`. With `AUTH_MODE=required`, send a key as `Authorization: Bearer "
            "KEY` or `X-API-Key: KEY`. Each role includes the previous ones: viewer, curator, "
            "admin. Errors are [problem documents](#problem) (`application/problem+json`) with a "
            "message in `detail` and a `request_id` that also appears in the log.",
            "",
            *table(("Route", "Role", "Summary"), overview),
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
