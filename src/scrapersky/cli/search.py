"""`scrapersky search`: businesses of a kind in an area, at a place provider."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.exits import Exit
from scrapersky.cli.options import AsJson, OfTenant
from scrapersky.cli.output import counted, note, out, print_json
from scrapersky.cli.search_run import SearchRun
from scrapersky.cli.session import Opened, opened, run, settings_for_people
from scrapersky.cli.typed import as_asked
from scrapersky.models import JOB_WORDS, Actor
from scrapersky.places import search_service
from scrapersky.places.coverage import coverage_of
from scrapersky.places.estimating import Estimate
from scrapersky.places.search_answers import (
    DryRunOut,
    SearchOut,
    SearchStatus,
    estimate_out,
    search_out,
    search_status,
)
from scrapersky.places.search_schemas import SearchIn, SearchProvider
from scrapersky.settings import Settings


def search(
    business_type: Annotated[str, typer.Argument(help="What to look for: bakeries, say.")],
    location: Annotated[
        str | None, typer.Option("--in", help="Where: a name on the map, for example Leipzig.")
    ] = None,
    radius_km: Annotated[
        float | None, typer.Option("--radius-km", help="Only so far from its middle.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="LAT,LNG", help="Around this point; needs --radius-km."),
    ] = None,
    provider: Annotated[SearchProvider, typer.Option(help="Whom to ask.")] = SearchProvider.GOOGLE,
    max_results: Annotated[int | None, typer.Option(min=1, help="Places at most.")] = None,
    website: Annotated[
        bool | None, typer.Option("--website/--no-website", help="Only with one, or without.")
    ] = None,
    min_rating: Annotated[float | None, typer.Option(help="Rated so at least: 0 to 5.")] = None,
    repeat_days: Annotated[int | None, typer.Option(help="Again every so many days.")] = None,
    only_list: Annotated[
        bool, typer.Option("--only-list", help="Do not take what is found on to leads.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it costs.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Work it now, and show what came.")] = False,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> int:
    """Find businesses of a kind in an area; what is found goes on to leads by itself."""
    settings = settings_for_people()
    given = {
        "business_type": business_type,
        "location": location,
        "radius_km": radius_km,
        "center": _point(at),
        "provider": provider,
        "max_results": max_results,
        "filters": {"has_website": website, "min_rating": min_rating},
        "repeat_days": repeat_days,
        "go_on": not only_list,
        "dry_run": dry_run,
    }
    wanted = as_asked(SearchIn, **{k: v for k, v in given.items() if v is not None})
    search_service.params_of(wanted, settings)  # refused before a database is started for it
    return run(_search(settings, wanted, tenant, wait=wait, as_json=as_json))


def _point(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    latitude, _, longitude = text.partition(",")
    return {"latitude": latitude.strip(), "longitude": longitude.strip()}


async def _search(
    settings: Settings, wanted: SearchIn, tenant: str | None, *, wait: bool, as_json: bool
) -> int:
    async with opened(settings) as everything:
        async with everything.database.reading() as session:
            actor = await acting_in(session, everything.actor, tenant)
        if wanted.dry_run:
            return await _estimate(everything, actor, wanted, as_json)
        asked, expected = await _ask(everything, actor, wanted)
        if not wait:
            print_json(asked) if as_json else _print_asked(asked, expected)
            return Exit.OK
        if not as_json:
            note(expected.sentence)
        return await _work(everything, actor, asked.search_id, as_json)


async def _estimate(everything: Opened, actor: Actor, wanted: SearchIn, as_json: bool) -> int:
    async with everything.database.reading() as session:
        expected = await search_service.estimate(session, actor, everything.settings, wanted)
    if as_json:
        print_json(DryRunOut(estimate=estimate_out(expected)))
    else:
        _say(expected.sentence)
    return Exit.OK


async def _ask(everything: Opened, actor: Actor, wanted: SearchIn) -> tuple[SearchOut, Estimate]:
    async with everything.database.transaction() as session:
        job, created, expected = await search_service.request_search(
            session, actor, everything.settings, wanted
        )
    return search_out(job, expected, already_active=not created), expected


def _print_asked(asked: SearchOut, expected: Estimate) -> None:
    already = " already" if asked.already_active else ""
    _say(f"Search {asked.search_id} is {asked.status}{already}. {expected.sentence}")
    _say("A worker or `scrapersky serve` works it; `scrapersky job show` tells how it is doing.")


async def _work(everything: Opened, actor: Actor, search_id: UUID, as_json: bool) -> int:
    try:
        await SearchRun(everything, search_id, quiet=as_json).to_the_end()
    except asyncio.CancelledError:
        note(f"Interrupted. Search {search_id} goes on when a worker or `scrapersky serve` runs.")
        return Exit.INTERRUPTED
    async with everything.database.reading() as session:
        job = await search_service.search_of(session, actor, search_id)
        status = search_status(job, await coverage_of(session, job))
    print_json(status) if as_json else _print_status(status)
    return _exit_code(status)


def _print_status(status: SearchStatus) -> None:
    covered = status.coverage
    found = f"{counted(covered.found, 'place')}, {covered.new:,} of them new"
    if status.status == JOB_WORDS.failed:
        _say(f"[red]The search failed[/red]: {escape(status.error or '')}", markup=True)
    elif status.status != JOB_WORDS.done:
        _say(f"[yellow]The search waits[/yellow]: {escape(status.error or '')}", markup=True)
    _say(f"{found}; {status.fits:,} pass the filters. {covered.sentence}")
    spent = f"{counted(status.requests, 'request')}, {status.paid_requests:,} of them of a kind"
    _say(f"{spent} that costs; {status.cost_usd:,.2f} USD.")
    if status.attribution:
        _say(status.attribution)


def _exit_code(status: SearchStatus) -> int:
    if status.status == JOB_WORDS.done:
        return Exit.OK if status.coverage.covered else Exit.PARTIAL
    return Exit.FAILED if status.status != JOB_WORDS.queued else Exit.PARTIAL


def _say(text: str, **how: Any) -> None:
    out.print(text, highlight=False, soft_wrap=True, **{"markup": False, **how})
