"""Rules of the code's structure.

Which module may import which is checked by import-linter; see `pyproject.toml`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from scrapersky.cli.app import COMMANDS, GROUPS
from scrapersky.pipeline.stage import AnyStage
from scrapersky.stages import CHORES, STAGES

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "scrapersky"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATABASE = PACKAGE / "db"
OUTSIDE_DATABASE = [path for path in SOURCES if DATABASE not in path.parents]
MIGRATIONS = DATABASE / "migrations"

MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 80
"""Far above what we like: a longer one does two things."""
GERUND = re.compile(r"(^|_)[a-z]+ing$")
GERUNDS_OF_THE_FIELD = {"listing", "logging", "matching", "ranking", "rendering", "testing"}

DECLARES_PARTIAL_INDEXES = {
    "pipeline/queue.py",
    "pipeline/tables.py",
    "models/businesses.py",
    "models/contacts.py",
    "models/domains.py",
    "models/jobs.py",
    "models/pages.py",
    "models/places.py",
    "models/sitemaps.py",
}
"""An index's condition can only be written as text; nothing else may be."""

ENTRY_POINTS = {"scrapersky", "scrapersky.__main__", "scrapersky.db.migrations.env"}
"""Started by Python, by the installed script or by Alembic rather than imported."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def method_calls(path: Path) -> Iterator[tuple[ast.Call, str, str]]:
    """Every `receiver.method(…)`, with the last part of the receiver and the method's name."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = ast.unparse(node.func.value).rpartition(".")[2].strip("_")
            yield node, receiver, node.func.attr


def imports(path: Path) -> Iterator[str]:
    """Everything imported anywhere in a module: `a.b` and, for `from a import b`, `a` and `a.b`."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


# Transactions and SQL


def test_only_the_database_package_commits() -> None:
    holders = {"session", "connection", "engine", "sync_engine"}
    found = [
        f"{named(path)}:{call.lineno} {receiver}.{method}"
        for path in OUTSIDE_DATABASE
        for call, receiver, method in method_calls(path)
        if method == "commit" or (method in ("begin", "rollback") and receiver in holders)
    ]

    assert found == []


def test_only_the_database_package_makes_engines_and_sessions() -> None:
    makers = ("create_async_engine", "create_engine", "async_sessionmaker", "sessionmaker")
    found = [
        f"{named(path)} {name}"
        for path in OUTSIDE_DATABASE
        for name in imports(path)
        if name.rpartition(".")[2] in makers
    ]

    assert found == []


def test_only_the_database_package_knows_the_driver() -> None:
    found = [
        named(path)
        for path in OUTSIDE_DATABASE
        if any(name.partition(".")[0] == "asyncpg" for name in imports(path))
    ]

    assert found == []


def test_sql_text_stays_in_the_database_package() -> None:
    textual = ("text", "literal_column", "TextClause", "DDL")
    found = {
        named(path)
        for path in OUTSIDE_DATABASE
        for name in imports(path)
        if name.startswith("sqlalchemy.") and name.rpartition(".")[2] in textual
    }
    driven = [
        f"{named(path)}:{call.lineno}"
        for path in OUTSIDE_DATABASE
        for call, _, method in method_calls(path)
        if method == "exec_driver_sql"
    ]

    assert found <= DECLARES_PARTIAL_INDEXES
    assert driven == []


@pytest.mark.parametrize("module", sorted(DECLARES_PARTIAL_INDEXES))
def test_text_beside_tables_is_the_condition_of_an_index(module: str) -> None:
    tree = tree_of(PACKAGE / module)
    conditions = {ast.unparse(each) for each in _conditions_of_indexes(tree)}
    named_so = {
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in conditions
    }
    texts = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "text"
    }

    assert texts
    assert texts <= conditions | named_so


def _conditions_of_indexes(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "postgresql_where":
            yield node.value


# Stages


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_work_is_given_no_session(stage: AnyStage) -> None:
    parameters = list(inspect.signature(stage.work).parameters.values())
    said = " ".join(f"{each.name}: {each.annotation}" for each in parameters).lower()

    assert len(parameters) == 2
    assert "session" not in said
    assert "database" not in said


def test_names_of_stages_and_chores_are_unique() -> None:
    """They are one scheduler's ids: the second of a pair would silently take the first's place."""
    names = [name for stage in STAGES for name in (stage.name, *stage.aliases)]
    names += [chore.name for chore in CHORES]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_setting_prefixes_are_unique() -> None:
    prefixes = Counter(stage.prefix for stage in STAGES)

    assert [prefix for prefix, count in prefixes.items() if count > 1] == []


def test_stages_feed_stages_that_come_later() -> None:
    order = [stage.name for stage in STAGES]

    for place, stage in enumerate(STAGES):
        assert set(stage.feeds) <= set(order[place + 1 :]), stage.name


# Modules


def test_every_module_says_what_it_is_for() -> None:
    assert [named(path) for path in SOURCES if not ast.get_docstring(tree_of(path))] == []


def test_class_names_are_unique() -> None:
    """A reader who searches for a class finds one."""
    names = Counter(
        node.name
        for path in _written_by_hand()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, count in names.items() if count > 1] == []


def test_modules_are_named_by_nouns() -> None:
    found = [
        named(path)
        for path in _written_by_hand()
        if GERUND.search(path.stem) and path.stem not in GERUNDS_OF_THE_FIELD
    ]

    assert found == []


def test_no_module_is_long() -> None:
    lines = {named(path): len(path.read_text().splitlines()) for path in _written_by_hand()}

    assert {name: count for name, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_no_function_is_long() -> None:
    found = [
        f"{named(path)}:{node.lineno} {node.name}"
        for path in _written_by_hand()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]

    assert found == []


def _written_by_hand() -> list[Path]:
    """All but the migrations' steps: a table takes the lines it takes, and they never change."""
    return [path for path in SOURCES if MIGRATIONS / "versions" not in path.parents]


def test_nothing_is_printed_but_through_the_console() -> None:
    found = [
        f"{named(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]

    assert found == []


def test_nothing_is_left_for_later() -> None:
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    found = [
        f"{named(path)}:{number} {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if unfinished.search(line)
    ]

    assert found == []


def test_every_module_is_used() -> None:
    commands = {f"scrapersky.cli.{module}" for module in (*COMMANDS.values(), *GROUPS.values())}
    used = {name for path in SOURCES for name in imports(path)} | commands
    unused = [
        module_name(path)
        for path in SOURCES
        if module_name(path) not in used | ENTRY_POINTS
        and MIGRATIONS / "versions" not in path.parents
        and not _holds_used_modules(path, used)
    ]

    assert unused == []


def _holds_used_modules(path: Path, used: set[str]) -> bool:
    """A package is used by whoever imports something from it."""
    prefix = f"{module_name(path)}."
    return path.name == "__init__.py" and any(name.startswith(prefix) for name in used)
