"""Make the entries of records that are written just like the sample their shape was learned from.

For every shape a function is put together that makes an entry of the texts in its slots in one
expression. It is put together as a syntax tree, so what the document calls its tags can only ever
be a constant in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from scrapersky.scraper.sitemap_parser.extensions import Adder
from scrapersky.scraper.sitemap_parser.model import Entry, Extension
from scrapersky.scraper.sitemap_parser.shapes import MISFIT, Medium, Misfit, Shape, Texts
from scrapersky.scraper.sitemap_parser.values import Values

_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
Others = list[tuple[Adder, int, int | None]]


class Maker:
    """Reads the records of one shape in one document, unless there is anything odd in them."""

    def __init__(self, shape: Shape, values: Values) -> None:
        self.shortest = sum(map(len, shape.literals))
        """Characters of a record in which all texts are empty."""
        self._match = _pattern(shape).fullmatch
        self._ending = shape.literals[-1]
        self._make = _compiled(shape, values)
        self._values = values
        self._loc = shape.page["loc"]
        self._urls = {slot for medium in shape.media for slot in medium.urls.values()}
        self._urls |= {href for _, href in shape.alternates}
        others = [other for medium in shape.media for other in medium.others]
        self._words = {slot for medium in shape.media for slot in medium.texts.values()}
        self._words |= {slot for _, slot, _ in others}
        self._attributes = {slot for _, _, slot in others if slot is not None}

    def read(self, text: str, start: int, end: int) -> Entry | Misfit:
        """The entry of the record at this place."""
        if not text.endswith(self._ending, start, end):
            return MISFIT
        match = self._match(text, start, end)
        if match is None:
            return MISFIT
        if text.find("&", start, end) < 0:
            return self._make(match.groups())
        texts = self._without_references(match.groups())
        return MISFIT if texts is None else self._make(texts)

    def _without_references(self, texts: Sequence[str]) -> Texts | None:
        """The texts as they are meant; None where that leaves nothing, or may mean anything."""
        found = list(texts)
        for slot, raw in enumerate(texts):
            if "&" in raw and slot not in self._attributes:
                meant = self._meant(slot, raw)
                if not meant:
                    return None
                found[slot] = meant
        return found

    def _meant(self, slot: int, raw: str) -> str | None:
        if slot == self._loc:
            return self._values.address_of(raw)
        if slot in self._urls:
            return self._values.url(raw)
        return self._values.text(raw) if slot in self._words else None


def _pattern(shape: Shape) -> re.Pattern[str]:
    # `re.escape` does more than is needed here, and all of it is compiled one by one.
    literals = (_SPECIAL.sub(r"\\\g<0>", literal) for literal in shape.literals)
    parts = zip(literals, (*shape.strict, ""), strict=True)
    return re.compile(r"\s*+" + "".join(chain.from_iterable(parts)))


def _compiled(shape: Shape, values: Values) -> Callable[[Texts], Entry]:
    names: dict[str, Any] = {
        "make": tuple.__new__,
        "Entry": Entry,
        "dates": values.dates,
        "changefreqs": values.changefreqs,
        "priorities": values.priorities,
        "blank": " ",
        "filled": _filled,
        "kept": _kept,
        "values": values,
    }
    fields = (
        _code(f"t[{shape.page['loc']}]"),
        _remembered("dates", shape.page.get("lastmod")),
        _remembered("changefreqs", shape.page.get("changefreq")),
        _remembered("priorities", shape.page.get("priority")),
        _media(shape.of_kind("image"), names),
        _media(shape.of_kind("video"), names),
        _first(shape.of_kind("news"), names),
        _alternates(shape.alternates),
        ast.Constant(shape.mobile),
        ast.Constant(shape.is_sitemap),
    )
    body = _call("make", ast.Name("Entry", ast.Load()), ast.Tuple(list(fields), ast.Load()))
    function = _code("lambda t: ...")
    assert isinstance(function, ast.Lambda)
    function.body = body
    tree = ast.fix_missing_locations(ast.Expression(function))
    made: Callable[[Texts], Entry] = eval(compile(tree, "<shape>", "eval"), names)  # noqa: S307
    return made


def _code(source: str) -> ast.expr:
    """An expression in our own words; `t` are the texts."""
    return ast.parse(source, mode="eval").body


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _list(items: Iterable[ast.expr]) -> ast.expr:
    return ast.List(list(items), ast.Load())


def _remembered(name: str, slot: int | None) -> ast.expr:
    return _code("None" if slot is None else f"{name}[t[{slot}]]")


def _media(media: list[Medium], names: dict[str, Any]) -> ast.expr:
    if not media:
        return _code("()")
    contents = _list(_content(medium, names) for medium in media)
    is_never_empty = all(medium.urls or medium.texts for medium in media)
    return contents if is_never_empty else _call("kept", contents)


def _first(media: list[Medium], names: dict[str, Any]) -> ast.expr:
    if not media:
        return _code("None")
    contents = (_content(medium, names) for medium in media)
    return ast.BoolOp(ast.Or(), [*contents, _code("None")])


def _content(medium: Medium, names: dict[str, Any]) -> ast.expr:
    """`{"loc": t[4], "title": blank.join(t[5].split())}`"""
    kept = {key: _code(f"t[{slot}]") for key, slot in medium.urls.items()}
    words = medium.texts | medium.words
    kept |= {key: _code(f"blank.join(t[{slot}].split())") for key, slot in words.items()}
    kept |= {key: _code(f"int(t[{slot}])") for key, slot in medium.numbers.items()}
    content = ast.Dict([ast.Constant(key) for key in kept], list(kept.values()))
    done = {*medium.words.values(), *medium.numbers.values()}
    others = [other for other in medium.others if other[1] not in done]
    if not others:
        return content
    name = f"others{len(names)}"
    names[name] = others
    return _call("filled", content, *map(_code, ("t", name, "values")))


def _alternates(pairs: list[tuple[int, int]]) -> ast.expr:
    if not pairs:
        return _code("()")
    return _list(_code(f"(t[{language}], t[{href}])") for language, href in pairs)


def _filled(content: Extension, texts: Texts, others: Others, values: Values) -> Extension:
    """With the fields that have a meaning of their own."""
    for add, slot, attributes in others:
        given = "" if attributes is None else texts[attributes]
        add(content, texts[slot], given, values)
    return content


def _kept(contents: list[Extension]) -> Sequence[Extension]:
    return [content for content in contents if content] or ()
