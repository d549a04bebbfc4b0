"""A process with a parser pool of two: one child hangs, the other is idle."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvloop

from scrapersky.scraper.html.parser_pool import ParserPool
from tests.scraper.html import parser_traps


async def main(note: str) -> None:
    async with ParserPool(2, timeout_seconds=3600) as pool:
        call = asyncio.create_task(pool.run(parser_traps.hang_after, note))
        pid = await pool.run(parser_traps.get_pid)
        await asyncio.to_thread(Path(f"{note}.idle").write_text, str(pid))
        await call


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
