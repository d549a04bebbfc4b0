"""Every setting, typed; a field's name in upper case is its environment variable."""

from __future__ import annotations

import ipaddress
import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from scrapersky.errors import SettingsError
from scrapersky.settings.values import (
    AllowedNetwork,
    IPNetwork,
    Pace,
    find_token_settings_error,
    load_pace,
    parse_allowed_network,
    parse_pin,
    parse_service_url,
    split_list,
)

DEFAULT_SYSTEM_USER_ID = UUID("5905e9fe-6c61-4694-b09a-6602017b000a")
"""The migrations create this user."""


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
    """The server itself, when DATABASE_URL leads through a pooler in transaction mode: notices are
    heard there, and nothing is kept on a connection that would outlive a transaction."""
    scrapersky_data_dir: Path = Field(default_factory=default_data_dir)
    """Where the embedded database lives, and the key of erased values' digests."""
    scrapersky_pg_bin: Path | None = None
    """A PostgreSQL `bin` folder to use instead of the one that came with the program."""
    database_pool_size: Annotated[int, Field(ge=2, le=200)] = 10
    """Connections a process keeps at most."""
    erasure_key: str = Field(default="", repr=False)
    """The key of erased values' digests, at least 32 characters; the same on every machine that
    shares a database. Empty means the key in ERASURE_KEY_FILE."""
    erasure_key_file: Path | None = None
    """Where that key is kept, if not as `erasure.key` in the data folder. It is created when the
    first person is erased; back it up."""

    # Start
    scrapersky_foreign_variables: str = ""
    """Variables that look like settings of ours and belong to other programs, with commas between;
    without it they stop the start."""

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is logged; `debug` also shows the traceback of an unexpected error."""
    log_format: Literal["console", "json"] = "console"
    """Text for people, or one JSON object per line; both go to standard error."""

    # Engine
    scheduler_enabled: bool = True
    """Whether the API process also works the queues; workers always do."""
    scheduler_system_user_id: UUID = DEFAULT_SYSTEM_USER_ID
    """Who stands as the creator of what the schedulers make."""
    worker_beat_seconds: Annotated[float, Field(gt=0)] = 5
    """How often a worker says that it lives, and lost rows are looked for."""
    worker_dead_after_seconds: Annotated[float, Field(gt=0)] = 15
    """A worker silent for this long is dead and its rows are given to others."""
    worker_exit_after_seconds: Annotated[float, Field(ge=0)] = 600
    """A worker that could not reach the database for this long ends with exit code 1, so that its
    supervisor starts it afresh; 0 means never. Its rows are dropped long before."""
    lease_grace_seconds: Annotated[float, Field(ge=0)] = 30
    """A lease lasts for the stage's timeout and this much more."""
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 20
    """How long a stop waits for work under way before it hands the rows back."""
    retry_base_seconds: Annotated[float, Field(gt=0)] = 30
    """The first retry waits for this long, each next one twice as long as the one before."""
    retry_cap_seconds: Annotated[float, Field(gt=0)] = 6 * 3600
    """No retry waits longer than this."""
    queue_oldest_due_limit_seconds: Annotated[float, Field(gt=0)] = 600
    """`/health/schedulers` answers 503 when a row that is due could have been worked for longer
    than this; one that waits for its host's turn could not."""

    # API
    auth_mode: Literal["open", "required"] = "open"
    """`open` asks for nothing and works on loopback only; `required` wants a key or a token."""
    jwt_secret: str = Field(default="", repr=False)
    """Bearer tokens signed by HS256 with this secret of at least 32 bytes are accepted."""
    jwt_public_key: str = ""
    """The same for tokens signed with the private half of this key, as PEM or the path of a PEM
    file; RS256, ES256 or EdDSA, as the key says. Only one of the two can be set."""
    jwt_audience: str = ""
    """What a token must name as its audience; needed where tokens are accepted."""
    jwt_issuer: str = ""
    """What a token must name as its issuer; empty means any."""
    jwt_leeway_seconds: Annotated[float, Field(ge=0, le=600)] = 30
    """How far the clock of whoever issues tokens may be off."""

    session_hours: Annotated[float, Field(gt=0, le=8760)] = 12
    """Whoever is signed in to the dashboard and does nothing for so long has to sign in again."""
    session_max_days: Annotated[float, Field(gt=0, le=365)] = 7
    """Whatever they do, people sign in to the dashboard anew after so many days."""

    trusted_proxies: str = ""
    """Addresses and networks of the reverse proxies in front, e.g. 127.0.0.1,10.0.0.0/8: only
    their X-Forwarded-For and X-Forwarded-Proto are believed."""
    cookie_secure: Literal["auto", "always"] = "auto"
    """`auto` marks the session cookie for https only when the request came by https, as a trusted
    proxy says; `always` does so in any case, and sign-in over plain http no longer works."""

    # Requests
    max_request_bytes: Annotated[int, Field(ge=1024)] = 10 * 1024 * 1024
    """A list that is handed in, as JSON or as a file; a larger one is answered 413 and not read to
    its end. Other bodies may have 1 MB, and those of requests without sign-in 64 kB."""
    max_header_bytes: Annotated[int, Field(ge=4096)] = 64 * 1024
    """A request's first line and headers together; larger ones are answered 431."""
    rate_limit_per_minute: Annotated[int, Field(ge=0, le=10_000_000)] = 6_000
    """Requests one caller may make in the long run, of each process; 0 means as many as wanted."""
    rate_limit_burst: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000
    """Requests a caller who was quiet may make at once."""
    idempotency_keep_hours: Annotated[float, Field(gt=0, le=8760)] = 24
    """How long a repeated `Idempotency-Key` is answered as it was the first time."""
    batch_max_domains: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Domains one batch may name; MAX_REQUEST_BYTES must have room for them."""
    events_poll_seconds: Annotated[float, Field(ge=0.05, le=60)] = 0.5
    """How often a process looks for changes of the jobs that are watched, all with one query."""
    events_heartbeat_seconds: Annotated[float, Field(gt=0, le=3600)] = 15
    """How often a stream of events without news shows that it is alive."""
    events_patience_seconds: Annotated[float, Field(gt=0, le=3600)] = 30
    """A client that reads nothing of its stream for so long is disconnected."""

    # Fetching
    fetch_user_agent: str = "ScraperSky/0.1 (+https://github.com/scrapersky/scrapersky)"
    """Who we say we are; the part before the slash is the name we look for in a robots.txt."""
    fetch_timeout_seconds: Annotated[float, Field(gt=0)] = 30
    """For one request with its redirects and body, all in all."""
    fetch_min_bytes_per_second: Annotated[float, Field(ge=0)] = 64
    """A body that comes more slowly than this for ten seconds is given up, and counts as a
    time-out of its host; 0 means that any rate will do."""
    robots_timeout_seconds: Annotated[float, Field(gt=0)] = 5
    """For a robots.txt with its redirects: a small file that every page of its host waits for."""
    fetch_max_bytes: Annotated[int, Field(ge=1024)] = 50 * 1024 * 1024
    """Bytes read from the network for one answer; the rest is not read."""
    fetch_max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """Redirects followed for one request."""
    fetch_allow_networks: str = ""
    """Private networks that sites may be crawled in, e.g. 127.0.0.0/8 for every port there, or
    10.1.2.3:8080 and [::1]:9000 for one."""
    fetch_allow_ports: str = "80,443,8000,8080,8443"
    """The ports that public addresses are fetched from."""
    fetch_resolve: str = ""
    """Names with fixed addresses, `bakery.example=127.0.0.1:8081,…`; allowed networks only."""
    fetch_ca_file: Path | None = None
    """A PEM file of further certificate authorities to trust."""
    host_concurrency: Annotated[int, Field(ge=1)] = 4
    """Requests to one host at once, over all workers."""
    slow_host_slots: Annotated[int, Field(ge=1)] = 64
    """Rows that a stage may have under way, in one process, at hosts that are slow or have not
    answered yet. They are worked beside its CONCURRENCY, so that they keep nobody waiting; at most
    four for each row of it, and fewer where there are few file descriptors."""
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
    sitemap_recheck_days: Annotated[float, Field(gt=0)] = 14
    """A sitemap whose index says that it has not changed is still asked for itself this often, if
    only for a 304: an index that gives old dates to new content would hide it for ever."""

    # Places
    provider_allow_networks: str = ""
    """The same as FETCH_ALLOW_NETWORKS for place providers: only needed where a …_BASE_URL leads
    into a private network."""
    google_places_api_key: str = Field(default="", repr=False)
    """For searches at Google; without it such searches are refused."""
    google_places_base_url: str = "https://places.googleapis.com"
    """Where the Places API (New) answers."""
    google_free_requests: bool = True
    """Whether the free requests of a month are ours alone; say no where the same billing account
    is used by others, and everything is counted at its price."""
    places_monthly_cap_usd: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """What each tenant may spend at place providers in a month, unless it was given a budget of
    its own; 0 means that only what is free is asked."""
    places_installation_cap_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    """What all tenants together may spend at place providers in a month, whatever their own caps
    add up to; empty means no further limit. An operator's `scrapersky budget set --installation`
    counts instead."""
    places_language: str = "en"
    """The language names and addresses are asked for in, unless a search says otherwise."""
    places_region: str = ""
    """The country, in two letters, that names and phone numbers are read for, unless a search or
    the place itself says otherwise."""
    place_search_max_results: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Places that a search brings unless it asks for fewer or more."""
    place_search_max_tiles: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Parts that a search's area is divided into at most."""
    place_details_max_age_days: Annotated[float, Field(gt=0, le=36_500)] = 180
    """What a provider said of a place is asked again by a deep scan when it is older than this."""
    place_retention_days: Annotated[float, Field(ge=0, le=36_500)] = 0
    """What Google said of a place is forgotten when it was not confirmed for so long, but for its
    id; 0 keeps it. See the terms of your contract."""
    nominatim_base_url: str = "https://nominatim.openstreetmap.org"
    """Where the names of areas are looked up, one a second at most."""
    overpass_base_url: str = "https://overpass-api.de"
    """Where the places of OpenStreetMap are asked for."""

    # Hand-offs
    auto_deep_scan: bool = False
    """Whether places whose details were not in the search are asked for by themselves, which
    costs money; those whose details are there go on without it."""
    auto_extract_domains: bool = True
    """Whether a business's website becomes a domain by itself; otherwise people select them."""
    auto_import_sitemaps: bool = True
    """Whether a sitemap that was read is imported into pages by itself; otherwise people ask."""
    auto_queue_pages: bool = True
    """Whether a site's few pages that are worth reading are read by themselves; otherwise people
    select them."""
    pages_per_site: Annotated[int, Field(ge=0, le=1_000)] = 6
    """So many of a site's pages are read without anybody asking for them."""

    # Pages and contacts
    decode_obfuscated: bool = True
    """Whether addresses that a site hides from programs are decoded; how each was found is said."""
    page_max_bytes: Annotated[int, Field(ge=1024)] = 5 * 1024 * 1024
    """Bytes read of one page; what comes after is not looked at."""
    parser_processes: Annotated[int, Field(ge=0, le=64)] = 2
    """Processes that read pages for one worker, started when needed. A page that hangs one of them
    or eats its memory is cut off. 0 reads pages in a thread of the worker, without these limits."""
    parser_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20
    """For reading one page that was fetched; then its process is killed, and the attempt counts."""
    parser_memory_mb: Annotated[int, Field(ge=256)] = 512
    """Address space of such a process, on Linux. It needs about 80 MB, and 100 MB more for a page
    of 5 MB; raise it with PAGE_MAX_BYTES."""

    # Webhooks
    webhook_allow_networks: str = ""
    """The same as FETCH_ALLOW_NETWORKS for webhooks and ALERT_WEBHOOK_URL. Every tenant's admins
    can send there, so open single ports, e.g. 10.1.2.3:5678."""
    webhook_timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 10
    """For one try to tell a receiver of an event."""

    # Metrics, alerts, retention
    alert_webhook_url: str = Field(default="", repr=False)
    """Where alerts are posted as JSON when they begin and when they end; empty means nowhere."""
    alert_webhook_secret: str = Field(default="", repr=False)
    """Signs what is posted, so that the receiver can tell it came from here."""
    alert_ticks_missed: Annotated[int, Field(ge=1)] = 3
    """A stage that nobody has ticked for so many of its intervals, and a minute, has stopped."""
    alert_dead_letters_per_hour: Annotated[int, Field(ge=1)] = 20
    """More rows of a stage given up in the last hour than this raise an alert."""
    alert_rescues_per_hour: Annotated[int, Field(ge=1)] = 20
    """More rows of a stage taken from dead workers in the last hour than this raise an alert."""
    alert_scans_without_sitemaps: Annotated[int, Field(ge=1)] = 20
    """So many scans ended in the last hour, and none found a sitemap: an alert."""
    alert_listener_down_seconds: Annotated[float, Field(gt=0)] = 60
    """A process that has heard no wake-ups for longer than this raises an alert."""
    alert_disk_free_bytes: Annotated[int, Field(ge=0)] = 1024**3
    """Less than this free where the data folder lies raises an alert."""
    alert_paused_seconds: Annotated[float, Field(gt=0)] = 3600
    """A stage that is paused for longer than this while rows wait for it raises an alert."""
    alert_open_circuits: Annotated[int, Field(ge=1)] = 20
    """So many hosts left alone at once because they keep failing raise an alert."""
    retention_jobs_days: Annotated[float, Field(ge=0)] = 90
    """Jobs that ended longer ago are deleted, but not a domain's last one. In all of these, 0
    keeps for ever."""
    retention_stage_events_days: Annotated[float, Field(ge=0)] = 30
    """What happened to rows, by which rates and durations are told."""
    retention_dead_letters_days: Annotated[float, Field(ge=0)] = 90
    """Dead letters that were replayed or discarded; open ones are never deleted."""
    retention_schedule_runs_days: Annotated[float, Field(ge=0)] = 7
    """Who did which chore when."""
    retention_audit_log_days: Annotated[float, Field(ge=0)] = 365
    """Who changed what."""
    retention_bulk_actions_days: Annotated[float, Field(ge=0)] = 30
    """Decisions about many rows, with what is needed to take them back."""
    retention_sessions_days: Annotated[float, Field(ge=0)] = 30
    """When people were signed in to the dashboard, counted from when it would have expired."""
    retention_webhook_deliveries_days: Annotated[float, Field(ge=0)] = 30
    """What receivers were told, and what they were not told in the end."""
    retention_workers_days: Annotated[float, Field(ge=0)] = 1
    """Workers that died."""
    retention_hosts_days: Annotated[float, Field(ge=0)] = 90
    """What is known of a host nobody has asked anything for this long."""
    retention_alerts_days: Annotated[float, Field(ge=0)] = 90
    """Alerts that are over."""

    @model_validator(mode="after")
    def _validate_tokens(self) -> Settings:
        if objection := find_token_settings_error(self):
            raise SettingsError(objection)
        return self

    @field_validator("log_level", "log_format", "auth_mode", "cookie_secure", mode="before")
    @classmethod
    def _lowercase_words(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("erasure_key")
    @classmethod
    def _validate_erasure_key(cls, value: str) -> str:
        if value and len(value) < 32:
            raise ValueError("it needs at least 32 characters; `openssl rand -hex 32` makes one")
        return value

    @property
    def allowed_networks(self) -> tuple[AllowedNetwork, ...]:
        """Those that sites may be crawled in."""
        return tuple(map(parse_allowed_network, split_list(self.fetch_allow_networks)))

    @field_validator("fetch_allow_networks", "provider_allow_networks", "webhook_allow_networks")
    @classmethod
    def _validate_networks(cls, value: str) -> str:
        for part in split_list(value):
            parse_allowed_network(part)
        return value

    @property
    def proxy_networks(self) -> tuple[IPNetwork, ...]:
        return tuple(ipaddress.ip_network(part) for part in split_list(self.trusted_proxies))

    @field_validator("trusted_proxies")
    @classmethod
    def _validate_proxies(cls, value: str) -> str:
        for part in split_list(value):
            ipaddress.ip_network(part)
        return value

    @property
    def allowed_ports(self) -> frozenset[int]:
        return frozenset(int(part) for part in split_list(self.fetch_allow_ports))

    @field_validator("fetch_allow_ports")
    @classmethod
    def _validate_ports(cls, value: str) -> str:
        for part in split_list(value):
            if not part.isdigit() or not 0 < int(part) < 65536:
                raise ValueError(f"{part!r} is not a port")
        return value

    @property
    def resolve(self) -> dict[str, tuple[str, int]]:
        """Host name → (address, port) it is pinned to."""
        return dict(parse_pin(part) for part in split_list(self.fetch_resolve))

    @field_validator("fetch_resolve")
    @classmethod
    def _validate_pins(cls, value: str) -> str:
        for part in split_list(value):
            parse_pin(part)
        return value

    @field_validator("google_places_base_url", "nominatim_base_url", "overpass_base_url")
    @classmethod
    def _validate_service_urls(cls, value: str) -> str:
        return parse_service_url(value)

    @property
    def rescan_interval(self) -> timedelta:
        return timedelta(hours=self.sitemap_rescan_interval_hours)

    def pace(self, prefix: str, default: Pace) -> Pace:
        return load_pace(self.environ, prefix, default)
