"""A file that cannot be rewound: what is written into it is taken out as it comes."""

from __future__ import annotations

from io import RawIOBase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Sink(RawIOBase):
    def __init__(self) -> None:
        self._written: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(data)
        self._written.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._written)
        self._written.clear()
        return taken
