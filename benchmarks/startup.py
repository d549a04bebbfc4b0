"""Start-up: imports, the command line and the first start, beside the frameworks and PostgreSQL.

    python -m benchmarks.startup

Imports and commands are measured in CPU time. The first start, from an empty data folder to an open
database at the current revision, is measured in elapsed time, because most of it is spent on the
disk. Each figure is the lowest of several runs, interleaved, in processes of their own with cached
bytecode. It ends with exit code 1 if `scrapersky.main` costs more than twice its frameworks, if
`--version` or a command's `--help` needs more than half a second, or if the first start takes more
than one and a half times as long as `initdb` and `pg_ctl start`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from scrapersky.cli.app import COMMANDS as SINGLE_COMMANDS
from scrapersky.cli.app import GROUPS
from scrapersky.db.embedded.account import get_server_account
from scrapersky.db.embedded.binaries import find_binaries, get_runnable_binaries

ROUNDS = 5
HELP_ROUNDS = 2
FIRST_START_ROUNDS = 3
MAX_MAIN_RATIO = 2.0
MAX_HELP_SECONDS = 0.5
MAX_FIRST_START_RATIO = 1.5
FRAMEWORKS = "import fastapi, sqlalchemy.ext.asyncio, aiohttp"
COMMANDS: Mapping[str, Sequence[str]] = {
    "frameworks": ("-c", FRAMEWORKS),
    "import scrapersky": ("-c", "import scrapersky"),
    "import scrapersky.models": ("-c", "import scrapersky.models"),
    "import scrapersky.main": ("-c", "import scrapersky.main"),
    "create_app()": ("-c", "from scrapersky.main import create_app; create_app()"),
    "scrapersky --version": ("-m", "scrapersky", "--version"),
    "scrapersky --help": ("-m", "scrapersky", "--help"),
    "scrapersky scan --help": ("-m", "scrapersky", "scan", "--help"),
}
SLOWEST_HELP = "slowest command's --help"
FIRST_START = """
import asyncio, time
from scrapersky.db.connection import open_database
from scrapersky.logging import configure_logging
from scrapersky.settings import load_settings

async def main():
    began = time.monotonic()
    async with open_database(load_settings()):
        print(time.monotonic() - began)

configure_logging(level="error")
asyncio.run(main())
"""


def main() -> int:
    seconds = _measure_lowest(COMMANDS, ROUNDS)
    helps = {name: ("-m", "scrapersky", name, "--help") for name in (*SINGLE_COMMANDS, *GROUPS)}
    of_helps = _measure_lowest(helps, HELP_ROUNDS)
    slowest = max(of_helps, key=of_helps.__getitem__)
    seconds[SLOWEST_HELP] = of_helps[slowest]
    frameworks = seconds["frameworks"]
    for name, value in seconds.items():
        more = f"   ({slowest})" if name == SLOWEST_HELP else ""
        print(f"{name:28} {value:6.2f} s CPU   {value / frameworks:5.2f} × frameworks{more}")
    bare, ours = _measure_first_starts()
    print(f"{'initdb and start':28} {bare:6.2f} s")
    print(f"{'first start':28} {ours:6.2f} s       {ours / bare:5.2f} × initdb and start")
    print(f"load {os.getloadavg()[0]:.1f}")
    quick = ("scrapersky --version", "scrapersky --help", SLOWEST_HELP)
    met = (
        seconds["import scrapersky.main"] <= MAX_MAIN_RATIO * frameworks,
        all(seconds[name] <= MAX_HELP_SECONDS for name in quick),
        ours <= MAX_FIRST_START_RATIO * bare,
    )
    return 0 if all(met) else 1


def _measure_lowest(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, float]:
    seconds = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds + 1):  # the first round writes the bytecode
        for name, arguments in commands.items():
            seconds[name] = min(seconds[name], _measure_cpu(arguments))
    return seconds


def _measure_cpu(arguments: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run_python(arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run_python(arguments: Sequence[str], **more: str) -> str:
    without = ("PYTHONDONTWRITEBYTECODE", "DATABASE_URL")
    environ = {name: value for name, value in os.environ.items() if name not in without} | more
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=environ, text=True
    ).stdout


def _measure_first_starts() -> tuple[float, float]:
    """Return the seconds of PostgreSQL alone and of our first start, in new folders."""
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(FIRST_START_ROUNDS):
        for measure, found in ((_measure_postgres, bare), (_measure_open_database, ours)):
            with tempfile.TemporaryDirectory() as folder:
                os.chmod(folder, 0o711)
                found.append(measure(Path(folder)))
    return min(bare), min(ours)


def _measure_open_database(folder: Path) -> float:
    return float(_run_python(("-c", FIRST_START), SCRAPERSKY_DATA_DIR=str(folder / "data")))


def _measure_postgres(folder: Path) -> float:
    account = get_server_account()
    binaries = get_runnable_binaries(account, find_binaries())
    os.chown(folder, account.uid, account.gid)
    cluster = folder / "cluster"
    options = f"-c listen_addresses= -c unix_socket_directories={folder}"
    server = (binaries.tool("pg_ctl"), "--pgdata", cluster, "--wait")

    def run(*command: str | Path) -> None:
        done = account.run(*command)
        if done.returncode:
            raise SystemExit(done.stderr)

    began = monotonic()
    run(binaries.tool("initdb"), "--pgdata", cluster, "--auth=trust")
    run(*server, "--log", folder / "log", "--options", options, "start")
    seconds = monotonic() - began
    run(*server, "stop")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
