"""Every setting, typed. A field's name in upper case is its environment variable."""

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
"""The system user that the migrations create."""


def default_data_dir() -> Path:
    """`/var/lib/scrapersky` for root, otherwise the XDG data folder."""
    if os.geteuid() == 0:
        return Path("/var/lib/scrapersky")
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "scrapersky"


class Settings(BaseModel):
    """All settings of the application. A field's name in upper case is its environment variable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    environ: dict[str, str] = Field(default_factory=dict, repr=False, exclude=True)
    """Environment and `.env` merged. Stages read their pace from here by prefix."""

    # Database
    database_url: str = Field(default="", repr=False)
    """URL of a PostgreSQL server, version 15 or later. Leave empty to use the embedded server."""
    listen_database_url: str = Field(default="", repr=False)
    """Direct URL of the server when DATABASE_URL points to a pooler in transaction mode. It is used
    for LISTEN, and pooled connections then keep no state beyond a transaction.
    """
    scrapersky_data_dir: Path = Field(default_factory=default_data_dir)
    """Folder of the embedded database and of the erasure key file."""
    scrapersky_pg_bin: Path | None = None
    """PostgreSQL `bin` folder to use instead of the bundled one."""
    database_pool_size: Annotated[int, Field(ge=2, le=200)] = 10
    """Maximum number of pooled database connections per process."""
    erasure_key: str = Field(default="", repr=False)
    """Key for the digests of erased values, at least 32 characters. Use the same key on every
    machine that shares a database; leave empty to use the key in ERASURE_KEY_FILE.
    """
    erasure_key_file: Path | None = None
    """File that holds the erasure key; defaults to `erasure.key` in the data folder. It is created
    when the first person is erased. Back it up.
    """

    # Start
    scrapersky_foreign_variables: str = ""
    """Comma-separated names of variables that look like ScraperSky settings but belong to other
    programs. Variables not listed here prevent the start.
    """

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged. `debug` also logs tracebacks of unexpected errors."""
    log_format: Literal["console", "json"] = "console"
    """Log output format: text for people, or one JSON object per line. Both go to standard error.
    """

    # Engine
    scheduler_enabled: bool = True
    """Whether the API process also runs the schedulers. Worker processes always do."""
    scheduler_system_user_id: UUID = DEFAULT_SYSTEM_USER_ID
    """User recorded as the creator of rows that the schedulers create."""
    worker_beat_seconds: Annotated[float, Field(gt=0)] = 5
    """Seconds between two heartbeats of a worker, and between two checks for rows of dead workers.
    """
    worker_dead_after_seconds: Annotated[float, Field(gt=0)] = 15
    """Seconds without a heartbeat after which a worker is considered dead and its rows are released
    to others.
    """
    worker_exit_after_seconds: Annotated[float, Field(ge=0)] = 600
    """Seconds without a database connection after which a worker exits with code 1, so that its
    supervisor restarts it; 0 means never. Its rows are released long before.
    """
    lease_grace_seconds: Annotated[float, Field(ge=0)] = 30
    """Seconds that a lease lasts beyond the stage's timeout."""
    shutdown_grace_seconds: Annotated[float, Field(ge=0)] = 20
    """Seconds that a shutdown waits for running work before it releases the rows."""
    retry_base_seconds: Annotated[float, Field(gt=0)] = 30
    """Delay before the first retry, in seconds. It doubles with each further retry."""
    retry_cap_seconds: Annotated[float, Field(gt=0)] = 6 * 3600
    """Maximum delay between two retries, in seconds."""
    queue_oldest_due_limit_seconds: Annotated[float, Field(gt=0)] = 600
    """`/health/schedulers` returns 503 when a due row has been claimable for more than this many
    seconds. Rows that wait for their host's rate limit do not count.
    """

    # API
    auth_mode: Literal["open", "required"] = "open"
    """`open` requires no credentials and works on loopback only. `required` requires an API key or
    a token.
    """
    jwt_secret: str = Field(default="", repr=False)
    """Secret for bearer tokens signed with HS256, at least 32 bytes. Set it to accept such tokens.
    """
    jwt_public_key: str = ""
    """Public key for bearer tokens, as PEM or as the path of a PEM file. The key determines the
    algorithm: RS256, ES256 or EdDSA. Set either this or JWT_SECRET, not both.
    """
    jwt_audience: str = ""
    """Audience that tokens must name. Required when tokens are accepted."""
    jwt_issuer: str = ""
    """Issuer that tokens must name; empty accepts any issuer."""
    jwt_leeway_seconds: Annotated[float, Field(ge=0, le=600)] = 30
    """Tolerated clock difference to the token issuer, in seconds."""

    session_hours: Annotated[float, Field(gt=0, le=8760)] = 12
    """Hours of inactivity after which a dashboard session ends."""
    session_max_days: Annotated[float, Field(gt=0, le=365)] = 7
    """Maximum lifetime of a dashboard session in days, regardless of activity."""

    trusted_proxies: str = ""
    """Addresses and networks of trusted reverse proxies, e.g. 127.0.0.1,10.0.0.0/8. X-Forwarded-For
    and X-Forwarded-Proto are ignored from all other addresses.
    """
    cookie_secure: Literal["auto", "always"] = "auto"
    """`auto` marks the session cookie as Secure when the request came over https, as reported by a
    trusted proxy. `always` marks it in any case; sign-in over plain http then no longer works.
    """

    # Requests
    max_request_bytes: Annotated[int, Field(ge=1024)] = 10 * 1024 * 1024
    """Maximum size of an import in bytes, as JSON or as a file. A larger one gets status 413 and is
    not read to its end. Other bodies are limited to 1 MB, those of unauthenticated requests to
    64 kB.
    """
    max_header_bytes: Annotated[int, Field(ge=4096)] = 64 * 1024
    """Maximum size of a request line and headers together, in bytes. Larger ones get status 431."""
    rate_limit_per_minute: Annotated[int, Field(ge=0, le=10_000_000)] = 6_000
    """Sustained number of requests per minute that one caller may make to each process; 0 means
    unlimited.
    """
    rate_limit_burst: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000
    """Number of requests that a caller may make in a burst."""
    idempotency_keep_hours: Annotated[float, Field(gt=0, le=8760)] = 24
    """Hours for which a repeated `Idempotency-Key` returns the stored response."""
    batch_max_domains: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Maximum number of domains in a batch. MAX_REQUEST_BYTES must be large enough to hold them."""
    events_poll_seconds: Annotated[float, Field(ge=0.05, le=60)] = 0.5
    """Seconds between two polls for changes of watched jobs. A process polls all of them with one
    query.
    """
    events_heartbeat_seconds: Annotated[float, Field(gt=0, le=3600)] = 15
    """Seconds between two heartbeats on an idle event stream."""
    events_patience_seconds: Annotated[float, Field(gt=0, le=3600)] = 30
    """Seconds after which a client that does not read its event stream is disconnected."""

    # Fetching
    fetch_user_agent: str = "ScraperSky/0.1 (+https://github.com/scrapersky/scrapersky)"
    """User-Agent header of all fetches. The part before the slash is the name matched in
    robots.txt.
    """
    fetch_timeout_seconds: Annotated[float, Field(gt=0)] = 30
    """Timeout of one request in seconds, including redirects and body."""
    fetch_min_bytes_per_second: Annotated[float, Field(ge=0)] = 64
    """Minimum transfer rate in bytes per second. A body that stays below it for ten seconds is
    aborted and counts as a timeout of its host; 0 means no minimum.
    """
    robots_timeout_seconds: Annotated[float, Field(gt=0)] = 5
    """Timeout in seconds for a robots.txt, including redirects. Keep it short: every page of the
    host waits for this small file.
    """
    fetch_max_bytes: Annotated[int, Field(ge=1024)] = 50 * 1024 * 1024
    """Maximum number of bytes read from the network per response. The rest is discarded."""
    fetch_max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """Maximum number of redirects followed per request."""
    fetch_allow_networks: str = ""
    """Private networks that may be crawled: 127.0.0.0/8 allows every port, 10.1.2.3:8080 or
    [::1]:9000 a single one.
    """
    fetch_allow_ports: str = "80,443,8000,8080,8443"
    """Ports that may be fetched on public addresses."""
    fetch_resolve: str = ""
    """Host names pinned to an address, `bakery.example=127.0.0.1:8081,…`. The addresses must be in
    allowed networks.
    """
    fetch_ca_file: Path | None = None
    """PEM file of additional certificate authorities to trust."""
    host_concurrency: Annotated[int, Field(ge=1)] = 4
    """Maximum number of concurrent requests to one host, across all workers."""
    slow_host_slots: Annotated[int, Field(ge=1)] = 64
    """Maximum number of rows that a stage processes concurrently, per process, on hosts that are
    slow or have not responded yet. They run in addition to CONCURRENCY, so that they do not
    delay other rows. The effective limit is at most four per row of CONCURRENCY, and lower when
    file descriptors are scarce.
    """
    host_delay_ms: Annotated[int, Field(ge=0)] = 100
    """Between the starts of two requests to one host, wait at least this many milliseconds, across
    all workers. A robots.txt may require a longer delay.
    """

    # Sitemaps
    sitemap_max_urls_per_domain: Annotated[int, Field(ge=1, le=50_000_000)] = 1_000_000
    """Maximum number of URLs stored by a scan that has no `max_pages`."""
    sitemap_max_files_per_domain: Annotated[int, Field(ge=1)] = 10_000
    """Maximum number of sitemaps read per scan."""
    sitemap_max_depth: Annotated[int, Field(ge=1, le=20)] = 5
    """Maximum nesting depth of sitemap indexes. A sitemap found on the site is at depth 0."""
    sitemap_max_decompressed_bytes: Annotated[int, Field(ge=1024)] = 256 * 1024 * 1024
    """Maximum number of decompressed bytes per response. The rest is discarded."""
    sitemap_rescan_interval_hours: Annotated[float, Field(gt=0)] = 168
    """Hours after a successful scan until a domain is due for its next scan."""
    sitemap_rescan_min_hours: Annotated[float, Field(gt=0)] = 24
    """Minimum hours between two scans of a site, even if it changes every time."""
    sitemap_rescan_max_hours: Annotated[float, Field(gt=0)] = 720
    """Maximum hours between two scans of a site, even if it never changes."""
    sitemap_recheck_days: Annotated[float, Field(gt=0)] = 14
    """Days after which a sitemap is requested even though its index reports no change, if only for
    a 304. Otherwise an index with outdated dates would hide new content forever.
    """

    # Places
    provider_allow_networks: str = ""
    """Like FETCH_ALLOW_NETWORKS, for place providers. Only needed when a …_BASE_URL points to a
    private network.
    """
    google_places_api_key: str = Field(default="", repr=False)
    """API key for Google Places. Without it, searches at Google are refused."""
    google_places_base_url: str = "https://places.googleapis.com"
    """Base URL of the Places API (New)."""
    google_free_requests: bool = True
    """Whether the monthly free requests are available to this installation alone. Set it to false
    if others use the same billing account; every request then counts at its full price.
    """
    places_monthly_cap_usd: Annotated[float, Field(ge=0, le=1_000_000)] = 0
    """Default monthly budget per tenant for place providers, in USD. 0 allows free requests only.
    """
    places_installation_cap_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    """Monthly limit in USD for place providers over all tenants together; empty means no further
    limit. `scrapersky budget set --installation` overrides it.
    """
    places_language: str = "en"
    """Default language of names and addresses. A search can override it."""
    places_region: str = ""
    """Default country, as two letters, for interpreting names and phone numbers. A search or the
    place itself overrides it.
    """
    place_search_max_results: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Default maximum number of places per search. A search can request fewer or more."""
    place_search_max_tiles: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Maximum number of tiles that the area of a search is split into."""
    place_details_max_age_days: Annotated[float, Field(gt=0, le=36_500)] = 180
    """Age in days after which a deep scan fetches the details of a place again."""
    place_retention_days: Annotated[float, Field(ge=0, le=36_500)] = 0
    """Days after which unconfirmed Google data about a place is deleted, except for its ID; 0 keeps
    it. Set it according to your contract with Google.
    """
    nominatim_base_url: str = "https://nominatim.openstreetmap.org"
    """Base URL of the Nominatim service that resolves area names. It receives at most one request
    per second.
    """
    overpass_base_url: str = "https://overpass-api.de"
    """Base URL of the Overpass API that returns places from OpenStreetMap."""

    # Hand-offs
    auto_deep_scan: bool = False
    """Whether place details that the search did not return are fetched automatically, which costs
    money. Places that already have details proceed without it.
    """
    auto_extract_domains: bool = True
    """Whether a business's website is added as a domain automatically. Otherwise people select the
    businesses.
    """
    auto_import_sitemaps: bool = True
    """Whether the URLs of a scanned sitemap are imported as pages automatically. Otherwise people
    start the import.
    """
    auto_queue_pages: bool = True
    """Whether the most promising pages of a site are read automatically. Otherwise people select
    them.
    """
    pages_per_site: Annotated[int, Field(ge=0, le=1_000)] = 6
    """Maximum number of pages per site that are read automatically."""

    # Pages and contacts
    decode_obfuscated: bool = True
    """Whether obfuscated e-mail addresses are decoded. The method is recorded with each contact."""
    page_max_bytes: Annotated[int, Field(ge=1024)] = 5 * 1024 * 1024
    """Maximum number of bytes parsed per page. The rest is ignored."""
    parser_processes: Annotated[int, Field(ge=0, le=64)] = 2
    """Maximum number of parser processes per worker, started on demand. They isolate pages that
    hang the parser or exhaust its memory. 0 parses pages in a thread of the worker, without
    these limits.
    """
    parser_timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 20
    """Timeout in seconds for parsing one fetched page. The parser process is then killed, and the
    attempt counts.
    """
    parser_memory_mb: Annotated[int, Field(ge=256)] = 512
    """Address space limit of a parser process in MB, Linux only. It needs about 80 MB, plus 100 MB
    for a page of 5 MB; raise it together with PAGE_MAX_BYTES.
    """

    # Webhooks
    webhook_allow_networks: str = ""
    """Like FETCH_ALLOW_NETWORKS, for webhooks and ALERT_WEBHOOK_URL. The admins of every tenant can
    send requests there, so allow single ports, e.g. 10.1.2.3:5678.
    """
    webhook_timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 10
    """Timeout of one webhook delivery attempt, in seconds."""

    # Metrics, alerts, retention
    alert_webhook_url: str = Field(default="", repr=False)
    """URL that receives `alert.fired` and `alert.resolved` as webhook events; empty disables them.
    All processes need the same value.
    """
    alert_webhook_secret: str = Field(default="", repr=False)
    """Secret that signs these events: `whsec_` and base64, or any text, whose bytes are the key.
    Empty sends them unsigned.
    """
    alert_ticks_missed: Annotated[int, Field(ge=1)] = 3
    """Number of missed intervals, plus one minute, after which a stage without ticks raises an
    alert.
    """
    alert_dead_letters_per_hour: Annotated[int, Field(ge=1)] = 20
    """Alert when more rows of a stage than this became dead letters within the last hour."""
    alert_rescues_per_hour: Annotated[int, Field(ge=1)] = 20
    """Alert when more rows of a stage than this were rescued from dead workers within the last
    hour.
    """
    alert_scans_without_sitemaps: Annotated[int, Field(ge=1)] = 20
    """Alert when at least this many scans ended within the last hour and none found a sitemap."""
    alert_listener_down_seconds: Annotated[float, Field(gt=0)] = 60
    """Alert when a process has received no wake-ups for more than this many seconds because its
    listener is down.
    """
    alert_disk_free_bytes: Annotated[int, Field(ge=0)] = 1024**3
    """Alert when the file system of the data folder has fewer free bytes than this."""
    alert_paused_seconds: Annotated[float, Field(gt=0)] = 3600
    """Alert when a stage with waiting rows has been paused for more than this many seconds."""
    alert_open_circuits: Annotated[int, Field(ge=1)] = 20
    """Alert when at least this many hosts have an open circuit breaker at the same time."""
    retention_jobs_days: Annotated[float, Field(ge=0)] = 90
    """Days to keep finished jobs. The last job of each domain is always kept. For all retention
    settings, 0 keeps rows forever.
    """
    retention_stage_events_days: Annotated[float, Field(ge=0)] = 30
    """Days to keep stage events, which rates and durations are computed from."""
    retention_dead_letters_days: Annotated[float, Field(ge=0)] = 90
    """Days to keep dead letters that were replayed or discarded. Open ones are never deleted."""
    retention_schedule_runs_days: Annotated[float, Field(ge=0)] = 7
    """Days to keep the history of chore runs."""
    retention_audit_log_days: Annotated[float, Field(ge=0)] = 365
    """Days to keep the audit log."""
    retention_bulk_actions_days: Annotated[float, Field(ge=0)] = 30
    """Days to keep bulk actions with the data needed to undo them."""
    retention_sessions_days: Annotated[float, Field(ge=0)] = 30
    """Days to keep dashboard sessions, counted from their expiry."""
    retention_webhook_deliveries_days: Annotated[float, Field(ge=0)] = 30
    """Days to keep webhook deliveries, both delivered and failed."""
    retention_workers_days: Annotated[float, Field(ge=0)] = 1
    """Days to keep rows of dead workers."""
    retention_hosts_days: Annotated[float, Field(ge=0)] = 90
    """Days to keep data about a host after the last request to it."""
    retention_alerts_days: Annotated[float, Field(ge=0)] = 90
    """Days to keep alerts that have ended."""

    @model_validator(mode="after")
    def _validate_tokens(self) -> Settings:
        if problem := find_token_settings_error(self):
            raise SettingsError(problem)
        return self

    @field_validator("log_level", "log_format", "auth_mode", "cookie_secure", mode="before")
    @classmethod
    def _lowercase_words(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("erasure_key")
    @classmethod
    def _validate_erasure_key(cls, value: str) -> str:
        if value and len(value) < 32:
            raise ValueError(
                "it needs at least 32 characters. Generate one with `openssl rand -hex 32`"
            )
        return value

    @field_validator("alert_webhook_secret")
    @classmethod
    def _validate_alert_secret(cls, value: str) -> str:
        if value.startswith("whsec_"):
            from standardwebhooks import Webhook

            try:
                Webhook(value)
            except Exception as error:
                raise ValueError("what follows whsec_ is not base64") from error
        return value

    @property
    def allowed_networks(self) -> tuple[AllowedNetwork, ...]:
        """Private networks that sites may be crawled in."""
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
        """Pinned addresses: host name → (address, port)."""
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
