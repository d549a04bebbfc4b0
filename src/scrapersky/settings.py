"""Every setting, typed, from the environment and `.env`."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from scrapersky.errors import SettingsError

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Pace:
    """How a stage runs: six settings under its prefix, e.g. SITEMAP_SCHEDULER_BATCH_SIZE."""

    interval_minutes: float = 1
    """Time between two ticks; a wake-up does not wait for the next one."""
    batch_size: int = 10
    """Rows one claim takes at most."""
    max_instances: int = 1
    """Runs of the stage at once in a process."""
    concurrency: int = 8
    """Rows a process works at once, whatever ticks and wake-ups come."""
    timeout_seconds: float = 60
    """Work that takes longer is ended, and counts as failed."""
    max_attempts: int = 5
    """After so many the row is failed and a dead letter is written."""

    @property
    def timeout(self) -> timedelta:
        return timedelta(seconds=self.timeout_seconds)


def default_data_dir() -> Path:
    """`/var/lib/scrapersky` for root, the XDG data folder for everybody else."""
    if os.geteuid() == 0:
        return Path("/var/lib/scrapersky")
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "scrapersky"


class Settings(BaseModel):
    """One object for all of it; a field's name in upper case is its environment variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    environ: dict[str, str] = Field(default_factory=dict, repr=False, exclude=True)
    """Environment and `.env` merged: stages read their pace from here by prefix."""

    # Database
    database_url: str = Field(default="", repr=False)
    """Any PostgreSQL server from version 15; empty means the embedded one."""
    listen_database_url: str = Field(default="", repr=False)
    """Where to LISTEN when DATABASE_URL leads through a pooler that cannot."""
    scrapersky_data_dir: Path = Field(default_factory=default_data_dir)
    """Where the embedded database lives."""
    scrapersky_pg_bin: Path | None = None
    """A PostgreSQL `bin` folder to use instead of the one that came with the program."""
    database_pool_size: Annotated[int, Field(ge=2, le=200)] = 10
    """Connections a process keeps at most."""

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is logged; `debug` also shows the traceback of an unexpected error."""
    log_format: Literal["console", "json"] = "console"
    """Text for people, or one JSON object per line; both go to standard error."""

    # Engine
    scheduler_enabled: bool = True
    """Whether the API process also works the queues; workers always do."""
    scheduler_system_user_id: UUID = UUID("5905e9fe-6c61-4694-b09a-6602017b000a")
    """Who stands as the creator of what the schedulers make."""
    worker_beat_seconds: Annotated[float, Field(gt=0)] = 5
    """How often a worker says that it lives, and lost rows are looked for."""
    worker_dead_after_seconds: Annotated[float, Field(gt=0)] = 15
    """A worker silent for this long is dead and its rows are given to others."""
    lease_grace_seconds: Annotated[float, Field(ge=0)] = 30
    """A lease lasts for the stage's timeout and this much more."""
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 20
    """How long a stop waits for work under way before it hands the rows back."""
    retry_base_seconds: Annotated[float, Field(gt=0)] = 30
    """The first retry waits for this long, each next one twice as long as the one before."""
    retry_cap_seconds: Annotated[float, Field(gt=0)] = 6 * 3600
    """No retry waits longer than this."""
    queue_oldest_due_limit_seconds: Annotated[float, Field(gt=0)] = 600
    """`/health/schedulers` answers 503 when a row has been due for longer than this."""

    # API
    auth_mode: Literal["open", "required"] = "open"
    """`open` asks for nothing and works on loopback only; `required` wants an API key."""

    # Fetching
    fetch_user_agent: str = "ScraperSky/0.1 (+https://github.com/scrapersky/scrapersky)"
    """Who we say we are; the part before the slash is the name we look for in a robots.txt."""
    fetch_timeout_seconds: Annotated[float, Field(gt=0)] = 30
    """For one request with its redirects and body, all in all."""
    fetch_max_bytes: Annotated[int, Field(ge=1024)] = 50 * 1024 * 1024
    """Bytes read from the network for one answer; the rest is not read."""
    fetch_max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """Redirects followed for one request."""
    fetch_allow_networks: str = ""
    """Private networks that may be fetched from, e.g. 127.0.0.0/8; any port is allowed there."""
    fetch_allow_ports: str = "80,443,8000,8080,8443"
    """The ports that public addresses are fetched from."""
    fetch_resolve: str = ""
    """Names with fixed addresses, `bakery.example=127.0.0.1:8081,…`; allowed networks only."""
    fetch_ca_file: Path | None = None
    """A PEM file of further certificate authorities to trust."""
    host_concurrency: Annotated[int, Field(ge=1)] = 4
    """Requests to one host at once, over all workers."""
    host_delay_ms: Annotated[int, Field(ge=0)] = 100
    """Between the starts of two requests to one host, over all workers; its robots.txt may ask
    for more."""

    # Sitemaps
    sitemap_max_urls_per_domain: Annotated[int, Field(ge=1, le=50_000_000)] = 1_000_000
    """URLs stored by one scan that was not given a `max_pages` of its own."""
    sitemap_max_files_per_domain: Annotated[int, Field(ge=1)] = 10_000
    """Sitemaps read in one scan."""
    sitemap_max_depth: Annotated[int, Field(ge=1, le=20)] = 5
    """How deep an index may name indexes; a sitemap found on the site is at depth 0."""
    sitemap_max_decompressed_bytes: Annotated[int, Field(ge=1024)] = 256 * 1024 * 1024
    """Bytes unpacked from one answer; the rest is not read."""
    sitemap_rescan_interval_hours: Annotated[float, Field(gt=0)] = 168
    """A domain is looked at again when its last good scan is older than this."""
    sitemap_rescan_min_hours: Annotated[float, Field(gt=0)] = 24
    """A site that changes with every look is still looked at no more often than this."""
    sitemap_rescan_max_hours: Annotated[float, Field(gt=0)] = 720
    """A site that never changes is still looked at this often."""

    # Hand-offs
    auto_import_sitemaps: bool = True
    """Whether a sitemap that was read is imported into pages by itself; otherwise people ask."""

    @field_validator("log_level", "log_format", "auth_mode", mode="before")
    @classmethod
    def _words_in_lower_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @property
    def allowed_networks(self) -> tuple[IPNetwork, ...]:
        return tuple(ipaddress.ip_network(part) for part in _listed(self.fetch_allow_networks))

    @field_validator("fetch_allow_networks")
    @classmethod
    def _networks_are_networks(cls, value: str) -> str:
        for part in _listed(value):
            ipaddress.ip_network(part)
        return value

    @property
    def allowed_ports(self) -> frozenset[int]:
        return frozenset(int(part) for part in _listed(self.fetch_allow_ports))

    @field_validator("fetch_allow_ports")
    @classmethod
    def _ports_are_ports(cls, value: str) -> str:
        for part in _listed(value):
            if not part.isdigit() or not 0 < int(part) < 65536:
                raise ValueError(f"{part!r} is not a port")
        return value

    @property
    def resolve(self) -> dict[str, tuple[str, int]]:
        """Host name → (address, port) it is pinned to."""
        return dict(_pinned(part) for part in _listed(self.fetch_resolve))

    @field_validator("fetch_resolve")
    @classmethod
    def _pins_are_pins(cls, value: str) -> str:
        for part in _listed(value):
            _pinned(part)
        return value

    @property
    def rescan_interval(self) -> timedelta:
        return timedelta(hours=self.sitemap_rescan_interval_hours)

    def pace(self, prefix: str, default: Pace) -> Pace:
        """The stage's pace: its own defaults, changed by what the environment says."""
        given: dict[str, Any] = {}
        for each in fields(Pace):
            variable = f"{prefix}_{each.name.upper()}"
            if text := self.environ.get(variable, "").strip():
                given[each.name] = _positive_number(variable, text, whole=each.type == "int")
        return replace(default, **given)


@dataclass(frozen=True)
class SettingsSource:
    """Where settings are read from, so that a test can give its own."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    env_file: Path | None = Path(".env")

    def merged(self) -> dict[str, str]:
        from_file = dotenv_values(self.env_file) if self.env_file and self.env_file.exists() else {}
        return {k: v for k, v in {**from_file, **self.environ}.items() if v is not None}


def load_settings(source: SettingsSource | None = None, **overrides: Any) -> Settings:
    """Read the environment; a value that cannot be is refused with the variable's name."""
    environ = (source or SettingsSource()).merged()
    values: dict[str, Any] = {"environ": environ}
    for name in Settings.model_fields:
        if name != "environ" and environ.get(name.upper(), "").strip():
            values[name] = environ[name.upper()].strip()
    try:
        return Settings(**{**values, **overrides})
    except ValidationError as error:
        raise SettingsError(_first_complaint(error)) from None


def _first_complaint(error: ValidationError) -> str:
    first = error.errors()[0]
    variable = str(first["loc"][0]).upper()
    reason = first["msg"].removeprefix("Value error, ")
    return f"{variable} cannot be {first['input']!r}: {reason}."


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pinned(text: str) -> tuple[str, tuple[str, int]]:
    name, _, target = text.partition("=")
    address, _, port = target.rpartition(":")
    if not name or not address or not port.isdigit():
        raise ValueError(f"{text!r} is not of the form name=address:port")
    ipaddress.ip_address(address.strip("[]"))
    return name.strip().lower(), (address.strip("[]"), int(port))


def _positive_number(variable: str, text: str, *, whole: bool) -> float:
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise SettingsError(f"{variable} cannot be {text!r}: a number is wanted.") from None
    if number <= 0:
        raise SettingsError(f"{variable} cannot be {text}: it must be above zero.")
    return number
