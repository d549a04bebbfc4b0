"""The site of the storing benchmark: it answers 304 to whom has a file already, and counts.

python -m benchmarks.storing_server CHILDREN URLS_EACH prints its port and serves until its input
ends. `GET /counted` tells the requests and body bytes since it was last asked, and is not counted.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from benchmarks.sitemaps_documents import site

HEADER_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Served:
    """A running site."""

    port: int

    def counted(self) -> dict[str, int]:
        """Requests and bytes of bodies since the last call."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/counted") as answer:
            told: dict[str, int] = json.load(answer)
        return told


@contextmanager
def serving_site(*, children: int, urls_each: int) -> Iterator[Served]:
    command = [sys.executable, "-m", "benchmarks.storing_server", str(children), str(urls_each)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Served(int(process.stdout.readline()))
        finally:
            process.stdin.close()


class Site:
    """Files by path, each with an ETag made of its bytes."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._etags = {path: _etag(body) for path, body in files.items()}
        self._requests = self._body_bytes = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(HEADER_END):
                writer.write(self._answer(request))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, request: bytes) -> bytes:
        path = request.split(b" ", 2)[1].decode()
        if path == "/counted":
            return self._tell()
        self._requests += 1
        body = self._files.get(path)
        if body is None:
            return _response(b"404 Not Found", b"")
        etag = self._etags[path]
        if etag in request:
            return _response(b"304 Not Modified", b"", etag)
        self._body_bytes += len(body)
        return _response(b"200 OK", body, etag)

    def _tell(self) -> bytes:
        told: dict[str, Any] = {"requests": self._requests, "body_bytes": self._body_bytes}
        self._requests = self._body_bytes = 0
        return _response(b"200 OK", json.dumps(told).encode())


def _etag(body: bytes) -> bytes:
    return b'"%s"' % blake2b(body, digest_size=8).hexdigest().encode()


def _response(status: bytes, body: bytes, etag: bytes = b'""') -> bytes:
    head = b"HTTP/1.1 %s\r\nETag: %s\r\nContent-Length: %d" % (status, etag, len(body))
    return head + HEADER_END + body


async def serve(children: int, urls_each: int) -> None:
    served = Site(site(children, urls_each))
    server = await asyncio.start_server(served.talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
