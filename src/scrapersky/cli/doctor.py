"""`scrapersky doctor`: check settings, database and workers without changing anything."""

from __future__ import annotations

import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

from rich.markup import escape
from sqlalchemy import Integer, func, select
from sqlalchemy.exc import SQLAlchemyError

from scrapersky import __version__
from scrapersky.auth.service import get_system_actor
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.output import format_count, out
from scrapersky.cli.session import run
from scrapersky.cli.settings_check import load_checked_settings
from scrapersky.db.connection import open_unchecked
from scrapersky.db.embedded import CheckResult, ServerAddress, diagnose
from scrapersky.db.embedded.layout import find_layout, resolve_data_dir
from scrapersky.db.embedded.process import find_postmaster, read_pid_file
from scrapersky.db.erasure_key import ErasureKeySource, list_fingerprints, require_key
from scrapersky.db.migrate import (
    MIN_SERVER_VERSION,
    get_current_revision,
    get_head_revision,
    require_current,
)
from scrapersky.db.outages import is_writable
from scrapersky.db.session import Database, parse_database_url
from scrapersky.errors import ScraperSkyError, SettingsError
from scrapersky.logging import configure_logging
from scrapersky.pipeline.bulk import is_letter_open
from scrapersky.pipeline.chores import list_chore_failures
from scrapersky.pipeline.health import find_chore_issues, find_unhandled_issues
from scrapersky.pipeline.queue_stats import describe_count, find_unhandled
from scrapersky.pipeline.report import list_live_workers, load_status
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.pipeline.vitals import find_exhausted_resource
from scrapersky.redaction import redact
from scrapersky.scraper.http.descriptors import (
    get_descriptor_limit,
    get_request_budget,
    raise_descriptor_limit,
)
from scrapersky.settings import Settings
from scrapersky.stages import STAGES

MIN_PYTHON = (3, 11)
MIN_DESCRIPTORS = 1_024
"""A limit that every supported system allows by default."""


def check_python() -> CheckResult:
    ok = sys.version_info >= MIN_PYTHON
    advice = "" if ok else f"; version {'.'.join(map(str, MIN_PYTHON))} or newer is required"
    sentence = f"ScraperSky {__version__} on Python {platform.python_version()}{advice}."
    return CheckResult("program", ok, sentence)


def check_settings(settings: Settings) -> CheckResult:
    """Check all settings, including those that are read only at startup."""
    for stage in STAGES:
        stage.get_pace(settings)
    if settings.listen_database_url:
        parse_database_url(settings.listen_database_url)
    if settings.fetch_ca_file is not None and not settings.fetch_ca_file.is_file():
        raise SettingsError(
            f"FETCH_CA_FILE points to {settings.fetch_ca_file}, which is not a file."
        )
    place = "DATABASE_URL" if settings.database_url else str(settings.scrapersky_data_dir)
    return CheckResult("settings", True, f"All settings are valid; database: {place}.")


def check_exposure(settings: Settings) -> CheckResult:
    """Check how the API can be reached. The listening addresses are unknown at this point."""
    # Importing the web framework is half of the startup time, and few commands need it.
    from scrapersky.http.proxies import find_exposure_warnings

    if settings.auth_mode == "open":
        return CheckResult("access", True, "Sign-in is off; reachable from this machine only.")
    if warnings := find_exposure_warnings(settings):
        return CheckResult("access", True, " ".join(warnings), is_warning=True)
    trusted = settings.trusted_proxies or "none"
    sentence = f"Sign-in is required; trusted proxies: {trusted}."
    return CheckResult("access", True, sentence)


def check_descriptors() -> CheckResult:
    """Check the hard limit on open files: a worker raises its own soft limit."""
    raise_descriptor_limit()
    limit, requests = get_descriptor_limit(), get_request_budget()
    ok = limit >= MIN_DESCRIPTORS
    advice = "" if ok else "; raise the limit on open files (ulimit -n, LimitNOFILE)"
    sentence = f"{limit:,} allowed, enough for {requests:,} concurrent requests{advice}."
    return CheckResult("open files", ok, sentence)


def find_running_server(settings: Settings) -> ServerAddress | None:
    """Return the URL of the embedded server if it is running and accepts connections."""
    try:
        data_dir = resolve_data_dir(settings.scrapersky_data_dir)
        layout = find_layout(data_dir) if data_dir.is_dir() else None
    except (ScraperSkyError, OSError):
        return None  # reported by an earlier check
    if layout is None or find_postmaster(layout.cluster) is None:
        return None
    noted = read_pid_file(layout.cluster)
    if noted is None or noted.socket_dir is None or noted.port is None or noted.status != "ready":
        return None
    return ServerAddress(noted.socket_dir, noted.port)


MAX_CLOCK_SKEW_SECONDS = 10.0
"""Row times come from the database's clock and ticks from ours. A larger skew makes their
comparison misleading.
"""

DatabaseCheck = Callable[[Database, Settings], Awaitable[CheckResult]]


async def check_database(settings: Settings, url: str) -> AsyncIterator[CheckResult]:
    """Run the checks that need a connection. Never start a server that is not running."""
    there = settings.model_copy(update={"database_url": url})
    try:
        async with open_unchecked(there) as database:
            async for finding in _check_open(database, settings):
                yield finding
    except ScraperSkyError as error:
        yield CheckResult("database", False, str(error))


async def _check_open(database: Database, settings: Settings) -> AsyncIterator[CheckResult]:
    for sign in (_version, _clock):
        yield await sign(database, settings)
    yield await _revision(database, settings)
    if await get_current_revision(database) != get_head_revision():
        return  # the remaining checks read tables that may not exist
    signs = (
        _system_user,
        _erasure_key,
        _workers,
        _limits,
        _stages,
        _chores,
        _jobs,
        _dead_letters,
    )
    for sign in signs:
        yield await _run_check(sign, database, settings)


async def _run_check(sign: DatabaseCheck, database: Database, settings: Settings) -> CheckResult:
    try:
        return await sign(database, settings)
    except (ScraperSkyError, SQLAlchemyError, OSError) as error:
        problem = str(find_exhausted_resource(error) or error)
        return CheckResult(sign.__name__.strip("_").replace("_", " "), False, problem)


async def _version(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        version_number = func.current_setting("server_version_num").cast(Integer)
        number, writable = (await session.execute(select(version_number, is_writable()))).one()
    ok = number >= MIN_SERVER_VERSION
    advice = "" if ok else f"; version {MIN_SERVER_VERSION // 10_000} or newer is required"
    if not writable:
        ok, advice = False, f"{advice}; the server is read-only, so nothing can be processed"
    version = f"{number // 10_000}.{number % 10_000}"
    return CheckResult("connection", ok, f"PostgreSQL {version} answers{advice}.")


async def _clock(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        await session.execute(select(1))  # open the connection before reading the clock
        before = datetime.now(UTC)
        theirs = await session.scalar(select(func.clock_timestamp()))
        ours = before + (datetime.now(UTC) - before) / 2
    seconds = abs((theirs - ours).total_seconds()) if theirs else 0.0
    ok = seconds <= MAX_CLOCK_SKEW_SECONDS
    advice = "" if ok else "; synchronise both clocks with NTP"
    return CheckResult(
        "clock",
        ok,
        f"The clocks of the database and this machine differ by {seconds:.1f} s{advice}.",
    )


async def _revision(database: Database, settings: Settings) -> CheckResult:
    revision = await get_current_revision(database)
    try:
        await require_current(database)
    except ScraperSkyError as error:
        if settings.database_url or revision is not None:
            return CheckResult("revision", False, str(error))
        return CheckResult("revision", True, "No tables yet; they are created at the next start.")
    return CheckResult("revision", True, f"At revision {revision}, up to date.")


async def _system_user(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        actor = await get_system_actor(session, settings)
    return CheckResult("system user", True, f"{actor.user_id} exists.")


async def _erasure_key(database: Database, settings: Settings) -> CheckResult:
    """Check the erasure key: without it, erased people would be collected again."""
    source = ErasureKeySource.from_settings(settings)
    key = source.load()
    async with database.reading() as session:
        used = await list_fingerprints(session)
    for fingerprint in used:
        require_key(source, fingerprint)
    if key is None:
        return CheckResult("erasure key", True, "None yet; created with the first erasure.")
    return CheckResult("erasure key", True, f"{key.fingerprint} from {source.place}; back it up.")


async def _workers(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        alive = await list_live_workers(session, settings)
    if not alive:
        advice = "No workers running. Start one with `scrapersky serve` or `scrapersky worker`."
        return CheckResult("workers", True, advice)
    names = ", ".join(f"{each.hostname}:{each.pid}" for each in alive)
    return CheckResult("workers", True, f"{format_count(len(alive), 'worker')}: {names}.")


async def _limits(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        limits = (await load_status(session, STAGES, settings)).own_limits
    ok_text = "No worker hit a resource limit in the last 5 minutes."
    return CheckResult("limits", not limits, " ".join(limits) or ok_text)


async def _stages(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        reports = (await load_status(session, STAGES, settings)).reports
    problems = [f"{each.name}: {problem}" for each in reports for problem in each.problems]
    paused = [each.name for each in reports if each.paused]
    lines = [*problems, *(f"{name} is paused." for name in paused)]
    counts = [each.due for each in reports]
    rows = "row" if sum(counts) == 1 else "rows"
    ok_text = f"{format_count(len(reports), 'stage')}, {describe_count(*counts)} {rows} due."
    return CheckResult("stages", not problems, " ".join(lines) or ok_text)


async def _chores(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        failing = [
            each.sentence for _, each in find_chore_issues(await list_chore_failures(session))
        ]
    return CheckResult("chores", not failing, " ".join(failing) or "No chores are failing.")


async def _jobs(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        wrong = [
            each.sentence
            for _, each in find_unhandled_issues(await find_unhandled(session, STAGES))
        ]
    return CheckResult("jobs", not wrong, " ".join(wrong) or "Every queued job has a stage.")


async def _dead_letters(database: Database, settings: Settings) -> CheckResult:
    async with database.reading() as session:
        count = await session.scalar(
            select(func.count()).select_from(DeadLetter).where(is_letter_open())
        )
    advice = "; see `scrapersky dead-letter list`" if count else ""
    return CheckResult("dead letters", True, f"{count or 0} open{advice}.")


def doctor() -> int:
    """Check settings, database and workers. Starts and changes nothing."""
    configure_logging(level="critical")
    return run(_print_report())


async def _print_report() -> int:
    wrong = 0
    async for finding in run_checks():
        good = "[yellow]![/yellow]" if finding.is_warning else "[green]✓[/green]"
        mark = good if finding.ok else "[red]✗[/red]"
        line = f"{mark} [bold]{finding.name:13}[/bold] {escape(redact(finding.sentence))}"
        out.print(line, highlight=False, soft_wrap=True)
        wrong += not finding.ok
    out.print()
    out.print(
        "All checks passed."
        if not wrong
        else f"[red]{wrong} {'check' if wrong == 1 else 'checks'} failed.[/red]"
    )
    return ExitCode.FAILED if wrong else ExitCode.OK


async def run_checks() -> AsyncIterator[CheckResult]:
    """Yield the check results, prerequisites first."""
    yield check_python()
    yield check_descriptors()
    try:
        settings = load_checked_settings()
        yield check_settings(settings)
        yield check_exposure(settings)
    except SettingsError as error:
        yield CheckResult("settings", False, str(error))
        return
    async for finding in _check_database_server(settings):
        yield finding


async def _check_database_server(settings: Settings) -> AsyncIterator[CheckResult]:
    url = settings.database_url
    if not url:
        for finding in diagnose(settings.scrapersky_data_dir, settings.scrapersky_pg_bin):
            yield finding
        server = find_running_server(settings)
        url = server.url if server else ""
    if url:
        async for finding in check_database(settings, url):
            yield finding
