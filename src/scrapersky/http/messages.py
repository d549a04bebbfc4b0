"""Requests and answers as the server hands them over: read whole, held back, sent again."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Send

NO_STORE = "no-store"


@dataclass
class Answer:
    """What a route answers, held back until its effect is stored."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": bytes(self.body)})

    @property
    def may_be_kept(self) -> bool:
        """An answer with a secret in it says that it may not."""
        return NO_STORE not in Headers(raw=self.headers).get("cache-control", "")

    def kept_headers(self) -> dict[str, str]:
        return {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in self.headers
            if name.lower() != b"content-length"
        }


async def whole_body(receive: Receive) -> bytes | None:
    """None when the client went away before it had sent all of it."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def with_body(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever comes."""
    unread = [body]

    async def receive_again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return receive_again
