"""The server's end of a connection, with two things that uvicorn leaves out."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scrapersky.http.event_stream import ABORT


class TooLarge(Exception):
    """Raised into the parser, which then reads no further."""


class Connection(HttpToolsProtocol):
    """Headers are limited, for all that was sent of them is kept until their end; and a connection
    whose other end takes nothing any more can be dropped."""

    max_header_bytes: int
    _began = 0
    _ended = 0
    _header_bytes = 0
    _too_large = False

    @classmethod
    def with_limit(cls, max_header_bytes: int) -> type[Connection]:
        return type("Connection", (cls,), {"max_header_bytes": max_header_bytes})

    def data_received(self, data: bytes) -> None:
        before = self._began
        super().data_received(data)
        still_in_headers = self._began > self._ended
        if still_in_headers and self._began == before and not self._too_large:
            self._header_bytes += len(data)
            if self._header_bytes > self.max_header_bytes:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._began, self._header_bytes = self._began + 1, 0
        scope: Any = self.scope
        scope["extensions"] = {ABORT: self.transport.abort}

    def on_headers_complete(self) -> None:
        self._ended = self._began
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.max_header_bytes:
            self._too_large = True
            raise TooLarge
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """In place of uvicorn's sentence, where what is wrong is the size."""
        if not self._too_large and self._header_bytes <= self.max_header_bytes:
            super().send_400_response(msg)
            return
        self._too_large = True
        sentence = f"The headers are larger than {self.max_header_bytes:,} bytes.".encode()
        length = f"content-length: {len(sentence)}\r\nconnection: close\r\n\r\n".encode()
        kind = b"content-type: text/plain; charset=utf-8\r\n"
        self.transport.write(STATUS_LINE[431] + kind + length + sentence)
        self.transport.close()
