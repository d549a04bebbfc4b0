"""A place of the demo's own: its settings and its database, gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from scrapersky.db.opening import embedded
from scrapersky.settings import Settings, SettingsSource, load_settings

T = TypeVar("T")

PACE = {
    "DOMAIN_SCHEDULER_MAX_ATTEMPTS": "2",
    "SITEMAP_SCHEDULER_MAX_ATTEMPTS": "2",
    "SITEMAP_SCHEDULER_CONCURRENCY": "24",
    "SITEMAP_IMPORT_SCHEDULER_CONCURRENCY": "8",
}
"""The site that does not answer is given up while people watch, and nobody waits for a place."""


@contextmanager
def own_settings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Settings]:
    """Settings for a temporary folder; its database is removed with it. `environ` leads to
    the town.

    The demo shows the program as it comes, so of the person's settings only those stay that
    say how this machine runs PostgreSQL.
    """
    folder = Path(tempfile.mkdtemp(prefix="scrapersky-demo-"))
    # Root's server runs as another user, who passes through here to its cluster.
    folder.chmod(0o711)
    ours = load_settings(
        SettingsSource(environ={**environ, **PACE}, env_file=None),
        scrapersky_data_dir=folder / "data",
        scrapersky_pg_bin=settings.scrapersky_pg_bin,
        retry_base_seconds=1,
        worker_dead_after_seconds=60,  # nobody else is there to take over from a slow machine
        shutdown_grace_seconds=0.5,
    )
    try:
        yield ours
    finally:
        embedded(ours).destroy()
        shutil.rmtree(folder)
