"""Take comments, declarations and CDATA out of a stream of XML, so that only tags and text stay.

There is no DTD engine here: what a DOCTYPE declares is skipped, and a reference to it yields
nothing. Everything is found by plain search, so the work grows with the length only.
"""

from __future__ import annotations

import re

from scrapersky.scraper.sitemap_parser.escapes import escape

_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_LONGEST_OPENER = len("<![CDATA[")
MAX_DECLARATION_CHARACTERS = 64 * 1024
MAX_ENTITIES = 1_000
_DECLARATION = re.compile(r"<![^<>\"'\[]*+(?:\"[^\"]*+\"[^<>\"'\[]*+|'[^']*+'[^<>\"'\[]*+)*+[>\[]")
_CONSTRUCT = re.compile(r"<[!?]")
_ENTITY = re.compile(r"<!ENTITY\s+([A-Za-z_][\w.\-]*)", re.IGNORECASE)


class Scrubber:
    """Feeds on raw text in pieces of any size and gives back clean text."""

    def __init__(self) -> None:
        self.entities: set[str] = set()
        """Names declared in the document's own DOCTYPE."""
        self._held = ""
        self._inside: str | None = None

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = ""
        if self._inside is None and "<!" not in text and "<?" not in text:
            return self._hold_back_opener(text)
        clean: list[str] = []
        position = 0
        while position < len(text):
            position = self._step(text, position, clean)
        return "".join(clean)

    def close(self) -> str:
        """What was held back when the document ended."""
        held, self._held = self._held, ""
        return "" if self._inside else held

    @property
    def unfinished(self) -> str | None:
        """The construct that the document ended in, if it did."""
        return self._inside

    @property
    def is_idle(self) -> bool:
        """What it is fed next begins outside of everything."""
        return self._inside is None and not self._held

    def _step(self, text: str, position: int, clean: list[str]) -> int:
        if self._inside is not None:
            return self._skip(text, position, clean)
        found = _CONSTRUCT.search(text, position)
        if found is None:
            clean.append(self._hold_back_opener(text[position:]))
            return len(text)
        clean.append(text[position : found.start()])
        return self._open(text, found.start())

    def _open(self, text: str, start: int) -> int:
        for opener in _ENDS:
            if text[start : start + len(opener)].upper() == opener:
                self._inside = opener
                return start + len(opener)
        if len(text) - start < _LONGEST_OPENER:
            self._held = text[start:]
            return len(text)
        return self._declaration(text, start)

    def _declaration(self, text: str, start: int) -> int:
        """Skip one `<!…>`; of a DOCTYPE with a subset only its head, as the rest follows alone."""
        match = _DECLARATION.match(text, start, start + MAX_DECLARATION_CHARACTERS)
        if match is not None:
            self._note_entity(match[0])
            return match.end()
        if len(text) - start < MAX_DECLARATION_CHARACTERS:
            self._held = text[start:]
            return len(text)
        # It never ends properly; go on after its first `>`, so that nothing is read twice.
        return text.find(">", start) + 1 or len(text)

    def _note_entity(self, declaration: str) -> None:
        if len(self.entities) < MAX_ENTITIES and (match := _ENTITY.match(declaration)):
            self.entities.add(match[1])

    def _skip(self, text: str, position: int, clean: list[str]) -> int:
        assert self._inside is not None
        end = _ENDS[self._inside]
        found = text.find(end, position)
        stop = found if found >= 0 else max(position, len(text) - len(end) + 1)
        if self._inside == "<![CDATA[":
            clean.append(escape(text[position:stop]))
        if found < 0:
            self._held = text[stop:]
            return len(text)
        self._inside = None
        return found + len(end)

    def _hold_back_opener(self, text: str) -> str:
        """A `<` or `<!` at the very end may be the beginning of something."""
        if text.endswith("<"):
            self._held = "<"
            return text[:-1]
        return text
