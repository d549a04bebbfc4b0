"""Read entries tag by tag from XML records, RSS and Atom feeds, and plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from scrapersky.scraper.sitemaps.parse.entries import Extension, UrlEntry, batch_entries
from scrapersky.scraper.sitemaps.parse.tokenizer import XmlToken, iter_tokens, parse_attributes
from scrapersky.scraper.sitemaps.parse.values import EXTENSION_TAGS, ExtensionItem, ValueParser

ITEM_TAGS = frozenset({"item", "entry"})
_DATE_FIELDS = ("updated", "modified", "pubdate", "published", "issued", "date")
"""Date fields by preference: modification before publication."""
_FEED_FIELDS = frozenset({"link", "guid", "id", *_DATE_FIELDS})
_FOREIGN_PREFIXES = frozenset({"atom", "atom10", "media", "source", "feedburner"})
_ABSOLUTE_URL = re.compile(r"\s*https?://", re.IGNORECASE)


class FeedReader:
    """Reader for complete feed items. Links of the channel itself are not pages."""

    def __init__(self, values: ValueParser) -> None:
        self._values = values

    def steps(self, text: str) -> Iterator[list[UrlEntry]]:
        return batch_entries(self.read(text))

    def read(self, text: str) -> Iterator[UrlEntry]:
        item: _FeedItem | None = None
        for token in iter_tokens(text):
            if token.name in ITEM_TAGS:
                if item is not None and (entry := item.entry()):
                    yield entry
                item = None if token.is_close or token.is_empty else _FeedItem(token, self._values)
            elif item is not None:
                item.take(token)
        if item is not None and (entry := item.entry()):
            yield entry


class _FeedItem:
    def __init__(self, token: XmlToken, values: ValueParser) -> None:
        self._values = values
        self._foreign = _FOREIGN_PREFIXES - {token.prefix}
        self._texts: dict[str, str] = {}
        self._href: str | None = None
        self._depth = 0
        """Nesting in elements whose links do not belong to the item."""
        self._about = parse_attributes(token.attributes).get("about", "")
        """Value of `rdf:about` of an RSS 1.0 item."""

    def take(self, token: XmlToken) -> None:
        if token.name in ("source", "content", "author", "description", "summary"):
            self._depth += 0 if token.is_empty else -1 if token.is_close else 1
        if token.is_close or self._depth > 0 or token.prefix in self._foreign:
            return
        if token.name == "link" and (attributes := parse_attributes(token.attributes)):
            self._take_link(attributes)
        if token.name in _FEED_FIELDS and token.tail.strip():
            self._texts.setdefault(token.name, token.tail)

    def _take_link(self, attributes: dict[str, str]) -> None:
        if attributes.get("rel", "alternate").lower() == "alternate" and "href" in attributes:
            self._href = self._href or attributes["href"]

    def entry(self) -> UrlEntry | None:
        # Some feeds have an identifier that is a URL instead of a link.
        identifier = self._texts.get("guid") or self._texts.get("id") or self._about
        identifier = identifier if _ABSOLUTE_URL.match(identifier) else ""
        loc = self._values.loc(self._texts.get("link") or self._href or identifier)
        if loc is None:
            return None
        date = next((self._texts[name] for name in _DATE_FIELDS if name in self._texts), None)
        return UrlEntry(loc, self._values.date(date))


_URL = re.compile(r"https?://\S+", re.IGNORECASE)


class LineReader:
    """Reader for plain text. Lines that do not start with a URL are counted as dropped."""

    def __init__(self, values: ValueParser) -> None:
        self._values = values

    def steps(self, text: str) -> Iterator[list[UrlEntry]]:
        return batch_entries(self.read(text))

    def read(self, text: str) -> Iterator[UrlEntry]:
        for line in text.splitlines():
            line = line.strip("\ufeff\u200b \t\0")
            if not line:
                continue
            match = _URL.match(line)
            if match is None:
                self._values.dropped["not_a_url"] += 1
            elif loc := self._values.clean_loc(match[0]):
                yield UrlEntry(loc)


MAX_STEP_TAGS = 1_000
"""Tags read before yielding to the event loop."""
PAGE_FIELDS = frozenset({"loc", "lastmod", "changefreq", "priority"})
RECORD_TAGS = frozenset({"url", "sitemap"})
ROOT_TAGS = frozenset({"urlset", "sitemapindex"})
EXTENSION_PREFIXES = frozenset({"image", "video", "news", "xhtml", "mobile", "geo", "pagemap"})


class RecordReader:
    """Reader for complete records in scrubbed text."""

    def __init__(self, values: ValueParser) -> None:
        self._values = values

    def read(self, text: str) -> Iterator[UrlEntry]:
        return chain.from_iterable(self.steps(text))

    def steps(self, text: str) -> Iterator[list[UrlEntry]]:
        """Yield entries after every `MAX_STEP_TAGS` tags, because a record may have thousands."""
        if "<" not in text:
            return
        record: _Record | None = None
        entries: list[UrlEntry] = []
        broken = text.count("<")
        for number, token in enumerate(iter_tokens(text), 1):
            broken -= 1
            record = self._take(token, record, entries)
            if number % MAX_STEP_TAGS == 0:
                yield entries
                entries = []
        if record is not None:
            entries += record.end()
        if broken:
            self._values.dropped["broken_tag"] += broken
        yield entries

    def _take(
        self, token: XmlToken, record: _Record | None, entries: list[UrlEntry]
    ) -> _Record | None:
        """Process the token and return the record that is open afterwards."""
        if record is not None and record.takes(token):
            entries += record.ready()
            return record
        if record is not None:
            entries += record.end()
        if token.name in RECORD_TAGS and not token.is_close and not token.is_empty:
            return _Record(token, self._values)
        if token.name in PAGE_FIELDS and not token.is_close:
            # A field outside any record: the opening tag of its record is missing.
            opened = _Record(token._replace(name="url", tail=""), self._values)
            opened.takes(token)
            return opened
        return None


class _Record:
    """Record that is being read. It yields an entry for every `loc` in it."""

    def __init__(self, token: XmlToken, values: ValueParser) -> None:
        self._prefix = token.prefix
        self._is_sitemap = token.name == "sitemap"
        self._values = values
        self._own_text = token.tail
        self._container: ExtensionItem | None = None
        self._field: XmlToken | None = None
        """Element whose text is being collected in `_pieces`."""
        self._pieces: list[str] = []
        self._opened_in_loc = False
        self._ready: list[UrlEntry] = []
        self._clear()

    def _clear(self) -> None:
        self._fields: dict[str, str] = {}
        self._media: dict[str, list[Extension]] = {"image": [], "video": [], "news": []}
        self._alternates: list[tuple[str, str]] = []
        self._mobile = False

    def takes(self, token: XmlToken) -> bool:
        """Process the token. Return False if it ends the record or comes after it."""
        if self._is_inside_loc(token):
            self._pieces.append(token.tail)
        elif token.name in RECORD_TAGS or token.name in ROOT_TAGS:
            return False
        elif token.is_close:
            self._close(token)
        else:
            self._open(token)
        return True

    def _is_inside_loc(self, token: XmlToken) -> bool:
        """Whether the token is markup inside a `loc`, as in `<loc><url>http://…</url></loc>`."""
        if self._field is None or self._field.name != "loc" or self._container is not None:
            return False
        if token.name == "loc" or token.name in PAGE_FIELDS or token.name in EXTENSION_TAGS:
            return False
        if token.is_close:
            return token.name not in ROOT_TAGS and self._opened_in_loc
        self._opened_in_loc = not "".join(self._pieces).strip()
        return self._opened_in_loc

    def _open(self, token: XmlToken) -> None:
        self._finish_field()
        if token.name in EXTENSION_TAGS:
            self._finish_container()
            if not token.is_empty:
                self._container = ExtensionItem(token.name, token.prefix)
        elif token.name == "link":
            attributes = parse_attributes(token.attributes)
            language, href = attributes.get("hreflang"), attributes.get("href", "")
            if language and (url := self._values.url(href)):
                self._alternates.append((self._values.text(language), url))
        elif token.name == "mobile":
            self._mobile = True
        elif not token.is_empty:
            if self._container is not None and token.name in ("publication", "tvshow"):
                self._container.parent = token.name
            self._field, self._pieces, self._opened_in_loc = token, [token.tail], False

    def _close(self, token: XmlToken) -> None:
        self._finish_field()
        if self._container is None:
            return
        if token.name == self._container.name and token.prefix == self._container.prefix:
            # The container was closed properly, so the fields belong to it.
            for name, raw in self._container.doubtful.items():
                self._container.add(name, raw, "", self._values)
            self._container.doubtful.clear()
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

    def _set(self, name: str, raw: str) -> None:
        if name == "loc" and "loc" in self._fields:
            self._emit_entry()
        self._fields.setdefault(name, raw)

    def _finish_container(self) -> None:
        container, self._container = self._container, None
        if container is None:
            return
        if container.content:
            self._media[container.name].append(container.content)
        for name, raw in container.doubtful.items():
            self._set(name, raw)

    def _emit_entry(self) -> None:
        fields, values = self._fields, self._values
        loc = values.loc(fields.get("loc", ""))
        if loc is not None:
            self._ready.append(
                UrlEntry(
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

    def ready(self) -> Iterator[UrlEntry]:
        """Yield the entries completed so far."""
        ready, self._ready = self._ready, []
        yield from ready

    def end(self) -> Iterator[UrlEntry]:
        """End the record and yield the remaining entries."""
        self._finish_field()
        self._finish_container()
        if "loc" not in self._fields and "://" in self._own_text:
            self._fields["loc"] = self._own_text
        self._emit_entry()
        yield from self.ready()
