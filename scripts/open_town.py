"""Keep the demo's town of sites open on this machine, for trying things out; Ctrl-C closes it.

python3 scripts/open_town.py town.env                 # in one terminal
set -a; . ./town.env; set +a                          # in every other one

The file is there as soon as the sites answer, and gone when the town is closed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import sitemap_scheduler.in_venv
import typer
from sitemap_scheduler.by_hand import run_script, say

from scrapersky.cli.session import run
from scrapersky.demo.town import Town


def open_town(
    file: Annotated[Path, typer.Argument(help="Where to write the variables that lead there.")],
) -> int:
    """Serve the town's sites until Ctrl-C, and write down how other processes reach them."""
    return run(_keep_open(sitemap_scheduler.in_venv.STARTED_IN / file))


async def _keep_open(file: Path) -> None:
    async with Town() as town:
        with _written(file, town):
            say(f"The town is open; {file} says how to get there:")
            for site in town.sites:
                say(f"  {site.name}")
            await asyncio.Event().wait()


@contextmanager
def _written(file: Path, town: Town) -> Iterator[None]:
    # Whoever waits for the file finds it whole.
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text(
        "".join(f"{name}={value}\n" for name, value in town.environment().items())
    )
    unfinished.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    run_script(open_town)
