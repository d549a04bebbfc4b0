"""The part of `docker-compose.yml` that passes every setting on."""

from __future__ import annotations

from pathlib import Path

from scripts.reference.settings import all_settings

BEGIN = "  # begin settings (made by scripts/make_reference.py)\n"
END = "  # end settings\n"

INSTEAD = {
    "DATABASE_URL": "postgresql://scrapersky:${POSTGRES_PASSWORD}@postgres:5432/scrapersky",
    "AUTH_MODE": "${AUTH_MODE:-required}",
    "LOG_FORMAT": "${LOG_FORMAT:-json}",
    "SCHEDULER_ENABLED": "${SCHEDULER_ENABLED:-false}",
    "TRUSTED_PROXIES": "${TRUSTED_PROXIES:-172.30.77.1}",
}
"""What is otherwise than in a program started by hand: the database is the one beside it, others
reach it over the network, and the workers work the queues. A proxy on the host arrives from the
gateway of the network, whose address the file fixes. Only it is trusted: other containers have
other addresses, so none of them can forge a client's."""


def compose_file(path: Path) -> str:
    """The file as it is, with the settings as they are now."""
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    return "".join([before, BEGIN, *map(_line, compose_settings().items()), END, after])


def compose_settings() -> dict[str, str]:
    """Each variable and what stands for it: what was given, or else the default."""
    return {
        each.variable: INSTEAD.get(each.variable, f"${{{each.variable}:-{each.default}}}")
        for each in all_settings()
    }


def _line(setting: tuple[str, str]) -> str:
    variable, value = setting
    return f'  {variable}: "{value}"\n'
