"""Start-up: CPU time of imports and of the command line, beside the frameworks alone.

    python -m benchmarks.startup

Each figure is the lowest of several runs, interleaved, in processes of their own with cached
bytecode. It ends with exit code 1 if `scrapersky.main` costs more than twice its frameworks, or if
`--help` or `--version` needs more than half a second.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence

ROUNDS = 5
MAX_MAIN_RATIO = 2.0
MAX_HELP_SECONDS = 0.5
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


def main() -> int:
    seconds = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(ROUNDS + 1):  # the first round writes the bytecode
        for name, arguments in COMMANDS.items():
            seconds[name] = min(seconds[name], _measure_cpu(arguments))
    frameworks = seconds["frameworks"]
    for name, value in seconds.items():
        print(f"{name:28} {value:6.2f} s CPU   {value / frameworks:5.2f} × frameworks")
    print(f"load {os.getloadavg()[0]:.1f}")
    is_fast = seconds["import scrapersky.main"] <= MAX_MAIN_RATIO * frameworks
    is_quick = all(
        seconds[name] <= MAX_HELP_SECONDS for name in ("scrapersky --version", "scrapersky --help")
    )
    return 0 if is_fast and is_quick else 1


def _measure_cpu(arguments: Sequence[str]) -> float:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
