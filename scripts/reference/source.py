"""What the source says about itself."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict

from scrapersky.settings import SettingsSource, load_settings
from scripts.reference.markdown import one_line

DEFAULTS = load_settings(SettingsSource(environ={}, env_file=None))
"""The settings of somebody who has set nothing."""


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
