"""Whether a database that answers is fit to work with, and whether the work is being done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

from sqlalchemy import Integer, func, select
from sqlalchemy.exc import SQLAlchemyError

from scrapersky.accounts.service import system_actor
from scrapersky.cli.output import counted
from scrapersky.db.away import is_writable
from scrapersky.db.embedded import Finding
from scrapersky.db.erasure_key import ErasureKeySource, list_fingerprints, refuse_other_key
from scrapersky.db.migrate import OLDEST_SERVER, current_revision, head_revision, require_current
from scrapersky.db.opening import open_unchecked
from scrapersky.db.session import Database
from scrapersky.errors import ScraperSkyError
from scrapersky.pipeline.chores import list_chore_failures
from scrapersky.pipeline.closing import is_open
from scrapersky.pipeline.own_limits import find_own_limit
from scrapersky.pipeline.queue_figures import describe_count, find_unhandled
from scrapersky.pipeline.report import live_workers, standing
from scrapersky.pipeline.tables import DeadLetter
from scrapersky.pipeline.troubles import judge_chores, judge_unhandled
from scrapersky.settings import Settings
from scrapersky.stages import STAGES

CLOCK_LIMIT_SECONDS = 10.0
"""Times of rows are the database's, ticks are noted by our own clock: more would mislead."""

Sign = Callable[[Database, Settings], Awaitable[Finding]]


async def check_database(settings: Settings, url: str) -> AsyncIterator[Finding]:
    """Only connects: a server that is not running stays so."""
    there = settings.model_copy(update={"database_url": url})
    try:
        async with open_unchecked(there) as database:
            async for finding in _check_open(database, settings):
                yield finding
    except ScraperSkyError as error:
        yield Finding("database", False, str(error))


async def _check_open(database: Database, settings: Settings) -> AsyncIterator[Finding]:
    for sign in (_version, _clock):
        yield await sign(database, settings)
    yield await _revision(database, settings)
    if await current_revision(database) != head_revision():
        return  # the rest reads tables that may not be there
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
        yield await _examined(sign, database, settings)


async def _examined(sign: Sign, database: Database, settings: Settings) -> Finding:
    try:
        return await sign(database, settings)
    except (ScraperSkyError, SQLAlchemyError, OSError) as error:
        problem = str(find_own_limit(error) or error)
        return Finding(sign.__name__.strip("_").replace("_", " "), False, problem)


async def _version(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        version_number = func.current_setting("server_version_num").cast(Integer)
        number, writable = (await session.execute(select(version_number, is_writable()))).one()
    ok = number >= OLDEST_SERVER
    advice = "" if ok else f"; version {OLDEST_SERVER // 10_000} or newer is needed"
    if not writable:
        ok, advice = False, f"{advice}; it is read-only, so no work is done"
    version = f"{number // 10_000}.{number % 10_000}"
    return Finding("connection", ok, f"PostgreSQL {version} answers{advice}.")


async def _clock(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        await session.execute(select(1))  # the connection is there before the clock is read
        before = datetime.now(UTC)
        theirs = await session.scalar(select(func.clock_timestamp()))
        ours = before + (datetime.now(UTC) - before) / 2
    seconds = abs((theirs - ours).total_seconds()) if theirs else 0.0
    ok = seconds <= CLOCK_LIMIT_SECONDS
    advice = "" if ok else "; set both clocks by NTP"
    return Finding("clock", ok, f"The database's clock and ours differ by {seconds:.1f} s{advice}.")


async def _revision(database: Database, settings: Settings) -> Finding:
    found = await current_revision(database)
    try:
        await require_current(database)
    except ScraperSkyError as error:
        if settings.database_url or found is not None:
            return Finding("revision", False, str(error))
        return Finding("revision", True, "No tables yet; they are made when it is next started.")
    return Finding("revision", True, f"At revision {found}, as it should be.")


async def _system_user(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        actor = await system_actor(session, settings)
    return Finding("system user", True, f"{actor.user_id} is there.")


async def _erasure_key(database: Database, settings: Settings) -> Finding:
    """Without the key people who were erased would be collected again."""
    source = ErasureKeySource.from_settings(settings)
    key = source.load()
    async with database.reading() as session:
        used = await list_fingerprints(session)
    for fingerprint in used:
        refuse_other_key(source, fingerprint)
    if key is None:
        return Finding("erasure key", True, "None yet; it is created when a person is erased.")
    return Finding("erasure key", True, f"{key.fingerprint} from {source.place}; back it up.")


async def _workers(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        alive = await live_workers(session, settings)
    if not alive:
        nobody = "None is running; `scrapersky serve` or `scrapersky worker` starts one."
        return Finding("workers", True, nobody)
    names = ", ".join(f"{each.hostname}:{each.pid}" for each in alive)
    return Finding("workers", True, f"{counted(len(alive), 'worker')}: {names}.")


async def _limits(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        told = (await standing(session, STAGES, settings)).own_limits
    calm = "No worker has run out of anything in the last five minutes."
    return Finding("limits", not told, " ".join(told) or calm)


async def _stages(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        reports = (await standing(session, STAGES, settings)).reports
    problems = [f"{each.name}: {problem}" for each in reports for problem in each.problems]
    paused = [each.name for each in reports if each.paused]
    said = [*problems, *(f"{name} is paused." for name in paused)]
    counts = [each.due for each in reports]
    rows = "row" if sum(counts) == 1 else "rows"
    calm = f"{counted(len(reports), 'stage')}, {describe_count(*counts)} {rows} due."
    return Finding("stages", not problems, " ".join(said) or calm)


async def _chores(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        failing = [each.sentence for _, each in judge_chores(await list_chore_failures(session))]
    return Finding("chores", not failing, " ".join(failing) or "No chore is failing.")


async def _jobs(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        wrong = [
            each.sentence for _, each in judge_unhandled(await find_unhandled(session, STAGES))
        ]
    return Finding("jobs", not wrong, " ".join(wrong) or "Every queued job has a stage.")


async def _dead_letters(database: Database, settings: Settings) -> Finding:
    async with database.reading() as session:
        count = await session.scalar(select(func.count()).select_from(DeadLetter).where(is_open()))
    advice = "; see `scrapersky dead-letter list`" if count else ""
    return Finding("dead letters", True, f"{count or 0} open{advice}.")
