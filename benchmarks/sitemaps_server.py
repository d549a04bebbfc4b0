"""A web server in a process of its own, so that it costs the measured one nothing.

python -m benchmarks.sitemaps_server NAME prints its port and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from benchmarks.sitemaps_documents import SITES

Answers = dict[str, bytes]


@contextmanager
def serving(name: str) -> Iterator[int]:
    """The port on which that site is served meanwhile."""
    command = [sys.executable, "-m", "benchmarks.sitemaps_server", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


async def serve(answers: Answers, *, encoding: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = urlsplit(request.split(b" ", 2)[1].decode()).path
                writer.write(_response(answers.get(path), encoding if ".xml" in path else b""))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _response(body: bytes | None, encoding: bytes) -> bytes:
    status = b"404 Not Found" if body is None else b"200 OK"
    body = body or b""
    header = b"Content-Encoding: %s\r\n" % encoding if encoding else b""
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, header, len(body), body)


if __name__ == "__main__":
    asyncio.run(
        serve(SITES[sys.argv[1]](), encoding=b"gzip" if sys.argv[1] == "bomb on the way" else b"")
    )
