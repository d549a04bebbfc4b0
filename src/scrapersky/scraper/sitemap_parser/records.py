"""Read `<url>` and `<sitemap>` records tag by tag, whatever state they are in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from scrapersky.scraper.sitemap_parser.extensions import CONTAINERS, Container
from scrapersky.scraper.sitemap_parser.model import Entry, Extension
from scrapersky.scraper.sitemap_parser.tokens import Token, attributes_of, tokens_of
from scrapersky.scraper.sitemap_parser.values import Values

STEP_TAGS = 1_000
"""Tags read before others have their turn."""
PAGE_FIELDS = frozenset({"loc", "lastmod", "changefreq", "priority"})
RECORDS = frozenset({"url", "sitemap"})
ROOTS = frozenset({"urlset", "sitemapindex"})
EXTENSION_PREFIXES = frozenset({"image", "video", "news", "xhtml", "mobile", "geo", "pagemap"})


class RecordReader:
    """Reads whole records out of clean text."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def read(self, text: str) -> Iterator[Entry]:
        return chain.from_iterable(self.steps(text))

    def steps(self, text: str) -> Iterator[list[Entry]]:
        """The entries in steps of so many tags, as a record may have thousands."""
        if "<" not in text:
            return
        record: _Record | None = None
        entries: list[Entry] = []
        broken = text.count("<")
        for number, token in enumerate(tokens_of(text), 1):
            broken -= 1
            record = self._take(token, record, entries)
            if number % STEP_TAGS == 0:
                yield entries
                entries = []
        if record is not None:
            entries += record.end()
        if broken:
            self._values.dropped["broken_tag"] += broken
        yield entries

    def _take(self, token: Token, record: _Record | None, entries: list[Entry]) -> _Record | None:
        """Read the token; the record that is open afterwards."""
        if record is not None and record.takes(token):
            entries += record.ready()
            return record
        if record is not None:
            entries += record.end()
        if token.name in RECORDS and not token.is_close and not token.is_empty:
            return _Record(token, self._values)
        if token.name in PAGE_FIELDS and not token.is_close:
            # A field outside any record: its opening tag is missing.
            opened = _Record(token._replace(name="url", tail=""), self._values)
            opened.takes(token)
            return opened
        return None


class _Record:
    """One record while its fields are being read; gives an entry for every `loc` in it."""

    def __init__(self, token: Token, values: Values) -> None:
        self._prefix = token.prefix
        self._is_sitemap = token.name == "sitemap"
        self._values = values
        self._own_text = token.tail
        self._container: Container | None = None
        self._field: Token | None = None
        """The element whose text is being collected, in `_pieces`."""
        self._pieces: list[str] = []
        self._opened_in_loc = False
        self._ready: list[Entry] = []
        self._clear()

    def _clear(self) -> None:
        self._fields: dict[str, str] = {}
        self._media: dict[str, list[Extension]] = {"image": [], "video": [], "news": []}
        self._alternates: list[tuple[str, str]] = []
        self._mobile = False

    def takes(self, token: Token) -> bool:
        """Read the token if it belongs to this record; False when it ends or follows it."""
        if self._is_inside_loc(token):
            self._pieces.append(token.tail)
        elif token.name in RECORDS or token.name in ROOTS:
            return False
        elif token.is_close:
            self._close(token)
        else:
            self._open(token)
        return True

    def _is_inside_loc(self, token: Token) -> bool:
        """`<loc><url>http://…</url></loc>` and other markup where only text belongs."""
        if self._field is None or self._field.name != "loc" or self._container is not None:
            return False
        if token.name == "loc" or token.name in PAGE_FIELDS or token.name in CONTAINERS:
            return False
        if token.is_close:
            return token.name not in ROOTS and self._opened_in_loc
        self._opened_in_loc = not "".join(self._pieces).strip()
        return self._opened_in_loc

    def _open(self, token: Token) -> None:
        self._finish_field()
        if token.name in CONTAINERS:
            self._finish_container()
            if not token.is_empty:
                self._container = Container(token.name, token.prefix)
        elif token.name == "link":
            self._add_alternate(token)
        elif token.name == "mobile":
            self._mobile = True
        elif not token.is_empty:
            self._begin_field(token)

    def _begin_field(self, token: Token) -> None:
        if self._container is not None and token.name in ("publication", "tvshow"):
            self._container.parent = token.name
        self._field, self._pieces, self._opened_in_loc = token, [token.tail], False

    def _close(self, token: Token) -> None:
        self._finish_field()
        if self._container is None:
            return
        if token.name == self._container.name and token.prefix == self._container.prefix:
            self._own_doubtful(self._container)
            self._finish_container()
        elif token.name == self._container.parent:
            self._container.parent = None

    def _finish_field(self) -> None:
        field, self._field = self._field, None
        if field is None:
            return
        raw, container = "".join(self._pieces), self._container
        if container is None:
            if field.name in PAGE_FIELDS and field.prefix not in EXTENSION_PREFIXES:
                self._set(field.name, raw)
        elif field.name in PAGE_FIELDS and field.prefix == self._prefix:
            container.doubtful.setdefault(field.name, raw)
        elif field.name != container.parent:
            container.add(field.name, raw, field.attributes, self._values)

    def _own_doubtful(self, container: Container) -> None:
        """The container was closed properly, so what stood in it was its own."""
        for name, raw in container.doubtful.items():
            container.add(name, raw, "", self._values)
        container.doubtful.clear()

    def _set(self, name: str, raw: str) -> None:
        if name == "loc" and "loc" in self._fields:
            self._emit()
        self._fields.setdefault(name, raw)

    def _add_alternate(self, token: Token) -> None:
        attributes = attributes_of(token.attributes)
        language, href = attributes.get("hreflang"), attributes.get("href", "")
        if language and (url := self._values.url(href)):
            self._alternates.append((self._values.text(language), url))

    def _finish_container(self) -> None:
        container, self._container = self._container, None
        if container is None:
            return
        if container.content:
            self._media[container.name].append(container.content)
        for name, raw in container.doubtful.items():
            self._set(name, raw)

    def _emit(self) -> None:
        fields, values = self._fields, self._values
        loc = values.loc(fields.get("loc", ""))
        if loc is not None:
            self._ready.append(
                Entry(
                    loc,
                    values.date(fields.get("lastmod")),
                    values.changefreq(fields.get("changefreq")),
                    values.priority(fields.get("priority")),
                    images=self._media["image"] or (),
                    videos=self._media["video"] or (),
                    news=next(iter(self._media["news"]), None),
                    alternates=self._alternates or (),
                    mobile=self._mobile,
                    is_sitemap=self._is_sitemap,
                )
            )
        self._clear()

    def ready(self) -> Iterator[Entry]:
        """Entries complete so far."""
        ready, self._ready = self._ready, []
        yield from ready

    def end(self) -> Iterator[Entry]:
        """The rest, now that the record is over."""
        self._finish_field()
        self._finish_container()
        if "loc" not in self._fields and "://" in self._own_text:
            self._fields["loc"] = self._own_text
        self._emit()
        yield from self.ready()
