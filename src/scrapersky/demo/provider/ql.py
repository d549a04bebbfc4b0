"""As much of Overpass's query language as is asked of the fake, read properly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from scrapersky.scraper.providers import geography
from scrapersky.scraper.providers.model import Area

_TOKEN = re.compile(
    r'\s*(?:"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>[A-Za-z_]+)|(?P<number>-?\d+(?:\.\d+)?)'
    r"|(?P<sign>[\[\]();,:=~!]))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"n": "\n", "t": "\t"}


class ParseError(Exception):
    """The query is none; the sentence is Overpass's."""


@dataclass(frozen=True)
class Filter:
    key: str
    value: str | None = None
    """Nothing: the key only has to be there."""
    key_is_pattern: bool = False
    is_pattern: bool = False
    ignores_case: bool = False

    def takes(self, tags: Mapping[str, str]) -> bool:
        return any(self._takes(name, value) for name, value in tags.items())

    def _takes(self, name: str, value: str) -> bool:
        flags = re.IGNORECASE if self.ignores_case else re.NOFLAG
        if not (re.search(self.key, name) if self.key_is_pattern else name == self.key):
            return False
        if self.value is None:
            return True
        return bool(re.search(self.value, value, flags) if self.is_pattern else value == self.value)


@dataclass(frozen=True)
class Statement:
    filters: tuple[Filter, ...]
    area: Area

    def takes(self, tags: Mapping[str, str], latitude: float, longitude: float) -> bool:
        inside = geography.contains(self.area, latitude, longitude)
        return inside and all(each.takes(tags) for each in self.filters)


@dataclass(frozen=True)
class Token:
    kind: str
    value: str


@dataclass
class Query:
    """`[out:json][timeout:n];(nwr…;nwr…;);out tags center;`, and nothing but that."""

    statements: list[Statement] = field(default_factory=list)
    timeout_seconds: int = 180


def parse(text: str) -> Query:
    return _Parser(_tokens(text)).query()


def _tokens(text: str) -> list[Token]:
    found, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"Unknown character near '{text[position : position + 10]}'")
        kind = match.lastgroup or ""
        value = match[kind]
        if kind == "text":
            value = _ESCAPE.sub(lambda each: _MEANT.get(each[1], each[1]), value)
        found.append(Token(kind, value))
        position = match.end()
    return found


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def query(self) -> Query:
        query = Query()
        while self._next_is("["):
            name, value = self._setting()
            if name == "timeout":
                query.timeout_seconds = int(value)
            elif (name, value) != ("out", "json"):
                raise ParseError(f"Unknown setting '{name}'")
        self._take(";")
        self._take("(")
        while not self._next_is(")"):
            query.statements.append(self._statement())
        self._take(")")
        for expected in (";", "out", "tags", "center", ";"):
            self._take(expected)
        if self._at < len(self._tokens):
            raise ParseError(f"Unexpected '{self._tokens[self._at].value}' after the end")
        return query

    def _setting(self) -> tuple[str, str]:
        self._take("[")
        name = self._any("word").value
        self._take(":")
        value = self._tokens[self._at].value
        self._at += 1
        self._take("]")
        return name, value

    def _statement(self) -> Statement:
        self._take("nwr")
        filters = []
        while self._next_is("["):
            filters.append(self._filter())
        self._take("(")
        numbers = [float(self._any("number").value)]
        for _ in range(3):
            self._take(",")
            numbers.append(float(self._any("number").value))
        self._take(")")
        self._take(";")
        return Statement(tuple(filters), Area(*numbers))

    def _filter(self) -> Filter:
        self._take("[")
        key_is_pattern = self._next_is("~")
        if key_is_pattern:
            self._take("~")
        key = self._any("text").value
        if self._next_is("]"):
            self._take("]")
            return Filter(key)
        sign = self._any("sign").value
        if sign not in "=~":
            raise ParseError(f"'=' or '~' expected - '{sign}' found.")
        value = self._any("text").value
        ignores_case = self._next_is(",")
        if ignores_case:
            self._take(",")
            self._take("i")
        self._take("]")
        return Filter(key, value, key_is_pattern, sign == "~", ignores_case)

    def _next_is(self, value: str) -> bool:
        if self._at >= len(self._tokens):
            return False
        token = self._tokens[self._at]
        return token.kind != "text" and token.value == value

    def _take(self, value: str) -> None:
        if not self._next_is(value):
            found = self._tokens[self._at].value if self._at < len(self._tokens) else "end"
            raise ParseError(f"'{value}' expected - '{found}' found.")
        self._at += 1

    def _any(self, kind: str) -> Token:
        if self._at >= len(self._tokens) or self._tokens[self._at].kind != kind:
            raise ParseError(f"A {kind} was expected.")
        self._at += 1
        return self._tokens[self._at - 1]
