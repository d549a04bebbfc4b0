"""What the settings' own declaration says: their groups, and what each means."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from functools import cache

from scrapersky.settings import Pace, Settings


@cache
def meanings() -> dict[str, str]:
    return _texts_below(Settings)


@cache
def paces() -> dict[str, str]:
    """Every value of a pace, with its meaning."""
    said = _texts_below(Pace)
    return {each.name: said.get(each.name, "") for each in fields(Pace)}


@cache
def groups() -> dict[str, tuple[str, ...]]:
    """Names under the comment that stands over them, in the order they are declared."""
    found: dict[str, tuple[str, ...]] = {}
    title = "Other"
    for line in inspect.getsource(Settings).splitlines():
        text = line.strip()
        name = text.partition(":")[0]
        if text.startswith("# "):
            title = text.removeprefix("# ")
        elif name in Settings.model_fields and name != "environ":
            found[title] = (*found.get(title, ()), name)
    return found


def _texts_below(kind: type) -> dict[str, str]:
    """The text under each field, which Python reads past."""
    declared = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for above, below in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            found[above.target.id] = _text_of(below)
    return {name: text for name, text in found.items() if text}


def _text_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""
