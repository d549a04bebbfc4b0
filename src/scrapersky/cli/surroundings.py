"""What the program stands on before there is a database: Python, settings, a running server."""

from __future__ import annotations

import platform
import sys

from scrapersky import __version__
from scrapersky.db.embedded import Finding, ServerAddress
from scrapersky.db.embedded.layout import find_layout, resolved
from scrapersky.db.embedded.process import find_postmaster, read_pid_file
from scrapersky.db.session import async_url
from scrapersky.errors import ScraperSkyError, SettingsError
from scrapersky.scraper.descriptors import (
    get_descriptor_limit,
    get_request_budget,
    raise_descriptor_limit,
)
from scrapersky.settings import Settings
from scrapersky.stages import STAGES

OLDEST_PYTHON = (3, 11)
ENOUGH_DESCRIPTORS = 1_024
"""What every system has allowed for decades."""


def check_python() -> Finding:
    ok = sys.version_info >= OLDEST_PYTHON
    advice = "" if ok else f"; {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed"
    sentence = f"ScraperSky {__version__} on Python {platform.python_version()}{advice}."
    return Finding("program", ok, sentence)


def check_settings(settings: Settings) -> Finding:
    """Those that are only read when something starts, too."""
    for stage in STAGES:
        stage.paced(settings)
    if settings.listen_database_url:
        async_url(settings.listen_database_url)
    if settings.fetch_ca_file is not None and not settings.fetch_ca_file.is_file():
        raise SettingsError(f"FETCH_CA_FILE names {settings.fetch_ca_file}, which is no file.")
    place = "DATABASE_URL" if settings.database_url else str(settings.scrapersky_data_dir)
    return Finding("settings", True, f"All can be used; the database is at {place}.")


def check_exposure(settings: Settings) -> Finding:
    """How others can reach the API; which addresses it will listen on is not known here."""
    # The framework is half of what the program loads, and few commands need it.
    from scrapersky.http.proxies import find_exposure_warnings

    if settings.auth_mode == "open":
        return Finding("access", True, "Without sign-in, for this machine only.")
    if warnings := find_exposure_warnings(settings):
        return Finding("access", True, " ".join(warnings), is_warning=True)
    trusted = settings.trusted_proxies or "nobody"
    sentence = f"With sign-in; forwarded headers are believed from {trusted}."
    return Finding("access", True, sentence)


def check_descriptors() -> Finding:
    """As the system allows them: a worker raises its soft limit by itself."""
    raise_descriptor_limit()
    limit, requests = get_descriptor_limit(), get_request_budget()
    ok = limit >= ENOUGH_DESCRIPTORS
    advice = "" if ok else "; raise the limit on open files (ulimit -n, LimitNOFILE)"
    sentence = f"{limit:,} allowed, enough for {requests:,} requests at once{advice}."
    return Finding("open files", ok, sentence)


def running_server(settings: Settings) -> ServerAddress | None:
    """The embedded server, if somebody has it running and it takes connections."""
    try:
        data_dir = resolved(settings.scrapersky_data_dir)
        layout = find_layout(data_dir) if data_dir.is_dir() else None
    except (ScraperSkyError, OSError):
        return None  # the diagnosis has said so already
    if layout is None or find_postmaster(layout.cluster) is None:
        return None
    noted = read_pid_file(layout.cluster)
    if noted is None or noted.socket_dir is None or noted.port is None or noted.status != "ready":
        return None
    return ServerAddress(noted.socket_dir, noted.port)
