"""Importing this makes a script run in the project's `.venv` and in its folder.

Whatever Python started the script, and from wherever: it starts again with the one that has the
program installed, and reads the `.env` the program reads.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
STARTED_IN = Path.cwd()
"""Where paths that were typed begin."""


def run_in_venv() -> None:
    python = VENV / "bin" / "python"
    if Path(sys.prefix).resolve() == VENV.resolve():
        os.chdir(ROOT)
        return
    if not python.exists():
        sys.exit(f"Error: {VENV} is not there yet; run `make install` in {ROOT} first.")
    script = str(Path(sys.argv[0]).resolve())
    os.execv(python, [str(python), script, *sys.argv[1:]])  # noqa: S606 (it is our own)


run_in_venv()
