"""The server's end of a connection, with three things that uvicorn leaves out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scrapersky.http.errors import PROBLEM_JSON
from scrapersky.http.event_stream import ABORT

HEADER_SECONDS = 20.0
"""From a connection's first moment, or a request's first byte, to the end of its headers."""


FAREWELL_SECONDS = 2.0


class TooLarge(Exception):
    """Raised into the parser, which then reads no further."""


class Connection(HttpToolsProtocol):
    """Headers are limited in size, for all that was sent of them is kept until their end, and in
    time, or a few bytes now and then would hold a connection for ever; and a connection whose other
    end takes nothing any more can be dropped."""

    max_header_bytes: int
    header_seconds: float
    _began = 0
    _ended = 0
    _header_bytes = 0
    _too_large = False
    _leaving = False
    _header_timer: asyncio.TimerHandle | None = None

    @classmethod
    def with_limit(
        cls, max_header_bytes: int, header_seconds: float = HEADER_SECONDS
    ) -> type[Connection]:
        limits = {"max_header_bytes": max_header_bytes, "header_seconds": header_seconds}
        return type("Connection", (cls,), limits)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._leaving:
            return
        before = self._began
        super().data_received(data)
        still_in_headers = self._began > self._ended
        if still_in_headers and self._began == before and not self._too_large:
            self._header_bytes += len(data)
            if self._header_bytes > self.max_header_bytes:
                self.send_400_response("")
        if still_in_headers or not (self._is_answering() or self.timeout_keep_alive_task):
            # The second: bytes that begin no request, such as empty lines, which have ended
            # uvicorn's own patience with an idle connection.
            self._start_header_timer()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_header_timer(self) -> None:
        """Once for a request: what comes later of its headers does not prolong it."""
        if self._header_timer is None and not self.transport.is_closing():
            self._header_timer = self.loop.call_later(self.header_seconds, self._end_of_patience)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _end_of_patience(self) -> None:
        self._header_timer = None
        if self._is_answering():
            # Headers of the next request while an answer is on its way: nothing may be written
            # into that, and the connection is in use anyhow.
            self._start_header_timer()
        elif self._began > self._ended:
            self._send_408_response()
        else:
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._began, self._header_bytes = self._began + 1, 0
        scope: Any = self.scope
        scope["extensions"] = {ABORT: self.transport.abort}

    def on_headers_complete(self) -> None:
        self._ended = self._began
        self._stop_header_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.max_header_bytes:
            self._too_large = True
            raise TooLarge
        super().on_headers_complete()

    def _send_408_response(self) -> None:
        sentence = (
            f"The headers did not arrive within {self.header_seconds:g} s. Send them at once."
        )
        document = {
            "type": "about:blank",
            "title": "Request Timeout",
            "status": 408,
            "detail": sentence,
        }
        self._send_and_close(408, PROBLEM_JSON, json.dumps(document).encode())

    def send_400_response(self, msg: str) -> None:
        """In place of uvicorn's sentence, where what is wrong is the size."""
        if not self._too_large and self._header_bytes <= self.max_header_bytes:
            self._send_and_close(400, "text/plain; charset=utf-8", msg.encode())
            return
        self._too_large = True
        sentence = f"The headers are larger than {self.max_header_bytes:,} bytes."
        self._send_and_close(431, "text/plain; charset=utf-8", sentence.encode())

    def _send_and_close(self, status: int, media_type: str, content: bytes) -> None:
        head = (
            f"content-type: {media_type}\r\nx-content-type-options: nosniff\r\n"
            f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + content)
        self._leave()

    def _leave(self) -> None:
        """Close when the client has closed, or after a moment. Closing at once while it still sends
        makes its system throw our answer away unread."""
        self._leaving = True
        self._stop_header_timer()
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._header_timer = self.loop.call_later(FAREWELL_SECONDS, self.transport.close)
        else:
            self.transport.close()
