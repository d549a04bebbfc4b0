"""Texts are plain technical English: idioms that readers had to translate stay out."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from scrapersky.main import create_app
from tests.conftest import make_settings

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "scrapersky"
IDIOMS = re.compile(
    r"\b(anew|whoever|nobody|somebody|everybody|anybody|by and by|hand(s|ed)? (in|back|on)|"
    r"looked (at|for)|look again|ask again|one after the other|what there is|once in a while|"
    r"all the same|given up|gives up|giving up|left alone|taken for|taken back|in one stroke|"
    r"in turns|lets? us in|(is|are) told|for ever|by hand|goes on|go on|stood still|"
    r"stands? (in|on|beside|still)|lies in|(by|of) (itself|themselves)|whose time has come|"
    r"a handful|so long|at once|whom)\b",
    re.IGNORECASE,
)
"""Each has a term of the field: import, rescan, request, retry, dead letter, back off."""


def read_prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield docstrings and comments with their line numbers."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_docstrings_and_comments_use_the_terms_of_the_field() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {match.group(0)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "versions" not in path.parts
        for line, text in read_prose(path)
        if (match := IDIOMS.search(re.sub(r"`[^`]*`", "", text)))
    ]

    assert found == []


def read_messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of at least three words, such as errors, help and log events."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(re.findall(r"[A-Za-z]{2,}", node.value)) >= 3
            and " " in node.value
        ):
            yield node.lineno, node.value


def test_messages_use_the_terms_of_the_field() -> None:
    # The sites of the demo are content, and the user `nobody` is a name.
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {match.group(0)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not {"versions", "sites", "values.py"} & set(path.parts)
        for line, text in read_messages(path)
        if (match := IDIOMS.search(text.replace("nor nobody exists", "")))
    ]

    assert found == []


def test_the_api_description_uses_the_terms_of_the_field(url: str) -> None:
    def read_texts(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            for key, value in node.items():
                if key in ("summary", "description") and isinstance(value, str):
                    yield value
                else:
                    yield from read_texts(value)
        elif isinstance(node, list):
            for value in node:
                yield from read_texts(value)

    texts = list(read_texts(create_app(make_settings(url)).openapi()))

    assert texts
    assert [text for text in texts if IDIOMS.search(text) or "sss" in text] == []
