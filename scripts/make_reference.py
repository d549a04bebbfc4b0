"""Write the reference pages, the index of help, `.env.example` and compose's settings from the
program itself.

.venv/bin/python -m scripts.make_reference            # write what differs
.venv/bin/python -m scripts.make_reference --check    # write nothing; exit 1 if anything differs
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.reference.api import api_page
from scripts.reference.cli import all_commands, cli_page, exit_codes, help_index
from scripts.reference.compose import compose_file
from scripts.reference.settings import (
    all_variables,
    env_example,
    settings_by_group,
    settings_page,
    stage_settings,
)
from scripts.reference.stages import stages_page
from scripts.reference.workflows import workflows_page

__all__ = [
    "all_commands",
    "all_variables",
    "exit_codes",
    "main",
    "outdated",
    "pages",
    "settings_by_group",
    "stage_settings",
]

ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[str, str]:
    """Every generated file's text, by its path in the repository."""
    return {
        "docs/reference/settings.md": settings_page(),
        "docs/reference/stages.md": stages_page(),
        "docs/reference/cli.md": cli_page(),
        "docs/reference/api.md": api_page(),
        "src/scrapersky/cli/help.json": help_index(),
        "docs/workflows.md": workflows_page(),
        ".env.example": env_example(),
        "docker-compose.yml": compose_file(ROOT / "docker-compose.yml"),
    }


def outdated() -> list[str]:
    """The generated files that are not what the program would write now."""
    return [name for name, text in pages().items() if _present(ROOT / name) != text]


def _present(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments: Sequence[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"{(__doc__ or '').strip()}\n")
        return 2
    differ = outdated()
    if arguments:
        sys.stdout.writelines(f"{name} is out of date.\n" for name in differ)
        return 1 if differ else 0
    written = pages()
    for name in differ:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(written[name], encoding="utf-8")
        sys.stdout.write(f"{name} written.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
