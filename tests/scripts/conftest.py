"""The scripts, run by another Python than the project's, in the demo's town."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scrapersky.demo.town import Town
from tests.processes import ROOT
from tests.waiting import PATIENCE_SECONDS


@dataclass
class Shell:
    """A terminal as Debian has it: a `python3` that is not the project's, and no `python`."""

    environ: dict[str, str]
    folder: Path = ROOT
    running: list[Process] = field(default_factory=list)

    async def start(self, *lines: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-e", "-c", "\n".join(lines)),
            cwd=self.folder,
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
        self.running.append(process)
        return process

    async def type(self, *lines: str, code: int = 0) -> str:
        """What was printed; the exit code is the last line's."""
        process = await self.start(*lines)
        async with asyncio.timeout(PATIENCE_SECONDS):
            said, _ = await process.communicate()
        assert process.returncode == code, said.decode()
        assert b"Traceback" not in said, said.decode()
        return said.decode()

    async def close(self) -> None:
        for each in self.running:
            if each.returncode is None:
                os.killpg(each.pid, 9)
                await each.wait()


@pytest.fixture
async def town() -> AsyncIterator[Town]:
    async with Town() as opened:
        yield opened


@pytest.fixture
async def shell(url: str, town: Town, tmp_path: Path) -> AsyncIterator[Shell]:
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec "{Path(sys.executable).resolve()}" "$@"\n')
    other.chmod(0o755)
    missing = other.with_name("python")
    missing.write_text("#!/bin/sh\necho python: not found >&2; exit 127\n")
    missing.chmod(0o755)
    path = f"{other.parent}:{os.environ['PATH']}"
    made = Shell({"PATH": path, "DATABASE_URL": url, **town.environment()})
    yield made
    await made.close()
