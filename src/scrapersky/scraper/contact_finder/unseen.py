"""Take out of a page what people do not see: comments, scripts, styles, decoys in an address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from scrapersky.scraper.contact_finder.markup import REST_OF_TAG, attributes_of

MAX_ELEMENTS = 10_000
MAX_SCRIPTS = 400
MAX_SCRIPT_CHARACTERS = 600_000
"""Together; a page's own data fits, a bundled program is not worth reading."""
MAX_DECOYS = 300
_MAX_STYLE_CHARACTERS = 200_000
_DECOY_REACH = 150

_RAW = ("script", "style", "template", "iframe", "xmp", "noembed", "noframes")
_ANY_CASE = {name: "".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _RAW}
_OPENER = re.compile(f"<(?:!--|(?:{'|'.join(_ANY_CASE.values())})(?=[\\s/>]))")
_CLOSERS = {name: re.compile(f"</{pattern}") for name, pattern in _ANY_CASE.items()}
_ELEMENT = re.compile(rf"<([a-zA-Z]++)({REST_OF_TAG})")
_COMMENT = re.compile(r"<!--(?:>|->|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)")
_GLUED_SPAN = re.compile(
    r"<(span|b|i|em|strong|u)\s([^<>]{1,300})>[^<]{0,80}</\1\s{0,3}>", re.IGNORECASE
)
_WRITTEN = re.compile(
    r"""\s*+document\.write(?:ln)?\(\s{0,9}(["'])([\w.\-]{0,64} ?"""
    r"""(?:@|&#64;|&#x40;|&commat;|\(at\)|\[at\]) ?[\w.\-]{0,80})\1"""
    r"""\s{0,9}\)\s*+;?\s*+\Z"""
)
"""A program that does nothing but write an "@" where it stands, perhaps with what is beside it."""
_MAX_WRITER_CHARACTERS = 150
_HIDING = (
    r"(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0(?![.\d]))"
)
_HIDDEN = re.compile(_HIDING, re.IGNORECASE)
_CSS_HIDDEN = re.compile(rf"\.([\w-]{{1,60}})\s{{0,9}}\{{[^{{}}]{{0,300}}?{_HIDING}")
_HIDING_WORDS = ("display", "visibility", "font-size", "opacity")


@dataclass(frozen=True)
class Script:
    kind: str
    """The type attribute in lower case; empty for a program."""
    text: str


@dataclass
class Seen:
    """The markup that is left, with an empty `<script>` where one stood."""

    markup: str
    scripts: list[Script] = field(default_factory=list)
    styles: str = ""
    capped: bool = False


def without_unseen(source: str) -> Seen:
    seen = Seen("")
    pieces: list[str] = []
    styles: list[str] = []
    position = characters = 0
    elements = _unseen_elements(source)
    for start, end, name, attributes, inside in elements:
        pieces.append(source[position:start])
        position = end
        if name == "style":
            styles.append(inside)
        elif name == "iframe":
            pieces.append(_shown_in_frame(attributes))
        elif name == "script" and inside:
            characters += len(inside)
            if len(seen.scripts) == MAX_SCRIPTS or characters > MAX_SCRIPT_CHARACTERS:
                seen.capped = True
                continue
            kind = attributes_of(attributes).get("type", "").strip().lower()
            seen.scripts.append(Script(kind, inside))
            pieces.append(f"<script>{_written_by(inside)}")
    if len(elements) < MAX_ELEMENTS:
        pieces.append(source[position:])
    else:
        seen.capped = True
    seen.styles = "\n".join(styles)[:_MAX_STYLE_CHARACTERS]
    seen.markup = _without_decoys("".join(pieces), seen.styles)
    return seen


def _shown_in_frame(attributes: str) -> str:
    """The page that a frame has in its own tag, without what is not seen of it."""
    if "srcdoc" not in attributes.lower():
        return ""
    inner = attributes_of(attributes).get("srcdoc", "")
    position, pieces = 0, ["<iframe>"]
    for start, end, *_ in _unseen_elements(inner):
        pieces.append(inner[position:start])
        position = end
    return "".join(pieces) + inner[position:] + "</iframe>"


def _written_by(script: str) -> str:
    match = _WRITTEN.match(script) if len(script) <= _MAX_WRITER_CHARACTERS else None
    return match[2] if match else ""


def _unseen_elements(source: str) -> list[tuple[int, int, str, str, str]]:
    """Start, end, name, attributes and content of each, in order."""
    found: list[tuple[int, int, str, str, str]] = []
    opener = _OPENER.search(source)
    while opener is not None and len(found) < MAX_ELEMENTS:
        found.append(_element_at(source, opener.start()))
        opener = _OPENER.search(source, found[-1][1])
    return found


def _element_at(source: str, start: int) -> tuple[int, int, str, str, str]:
    comment = _COMMENT.match(source, start)
    if comment is not None:
        return start, comment.end(), "", "", ""
    tag = _ELEMENT.match(source, start)
    assert tag is not None
    if tag[1].lower() == "template" and "shadowroot" in tag[2].lower():
        return start, tag.end(), "", "", ""  # it is shown at once, only its styles are its own
    close = _closing(source, tag[1], tag.end())
    end = source.find(">", close)
    end = end + 1 if end >= 0 else len(source)
    return start, end, tag[1].lower(), tag[2], source[tag.end() : close]


def _closing(source: str, name: str, start: int) -> int:
    """Where `</script` stands; an element that is never closed goes to the end."""
    match = _CLOSERS[name.lower()].search(source, start)
    return match.start() if match else len(source)


def _without_decoys(markup: str, styles: str) -> str:
    """Take out short spans that a style hides between the letters of an address."""
    if "@" not in markup or not _may_hide(markup, styles):
        return markup
    hidden = set(_CSS_HIDDEN.findall(styles))
    pieces: list[str] = []
    position = 0
    at = markup.find("@")
    for _ in range(MAX_DECOYS):
        if at < 0:
            break
        start, end = max(position, at - _DECOY_REACH), at + _DECOY_REACH
        window = markup[start:end]
        if "</" in window:
            window = _GLUED_SPAN.sub(lambda m: "" if _is_hidden(m[2], hidden) else m[0], window)
        pieces += (markup[position:start], window)
        position = end
        at = markup.find("@", end)
    return "".join(pieces) + markup[position:]


def _may_hide(markup: str, styles: str) -> bool:
    return " hidden" in markup or any(word in styles or word in markup for word in _HIDING_WORDS)


def _is_hidden(written: str, hidden_classes: set[str]) -> bool:
    attributes = attributes_of(written)
    if "hidden" in attributes or _HIDDEN.search(attributes.get("style", "")):
        return True
    return not hidden_classes.isdisjoint(attributes.get("class", "").split())
