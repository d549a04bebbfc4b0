"""`scrapersky search`: find businesses of a type in an area with a place provider."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.errors import ExitCode
from scrapersky.cli.options import AsJson, TenantOption, validate_input
from scrapersky.cli.output import format_count, note, out, print_json
from scrapersky.cli.search_run import SearchRun
from scrapersky.cli.session import CommandContext, load_interactive_settings, open_context, run
from scrapersky.models import JOB_STATUSES, Actor
from scrapersky.places.budget.estimates import CostEstimate
from scrapersky.places.search import service
from scrapersky.places.search.coverage import load_coverage
from scrapersky.places.search.schemas import (
    DryRunOut,
    SearchIn,
    SearchOut,
    SearchProvider,
    SearchStatus,
    estimate_out,
    search_out,
    search_status,
)
from scrapersky.settings import Settings


def search(
    business_type: Annotated[str, typer.Argument(help="Type of business, for example bakery.")],
    location: Annotated[
        str | None, typer.Option("--in", help="Place name, for example Leipzig.")
    ] = None,
    radius_km: Annotated[
        float | None, typer.Option("--radius-km", help="Radius in km around the centre.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="LAT,LNG", help="Centre point; requires --radius-km."),
    ] = None,
    provider: Annotated[
        SearchProvider, typer.Option(help="Place provider.")
    ] = SearchProvider.GOOGLE,
    max_results: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of places.")
    ] = None,
    website: Annotated[
        bool | None,
        typer.Option("--website/--no-website", help="Only places with or without a website."),
    ] = None,
    min_rating: Annotated[float | None, typer.Option(help="Minimum rating (0–5).")] = None,
    repeat_days: Annotated[int | None, typer.Option(help="Repeat every N days.")] = None,
    only_list: Annotated[
        bool, typer.Option("--only-list", help="Store the places, but do not turn them into leads.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only estimate the cost.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Run the search now and show the results.")
    ] = False,
    tenant: TenantOption = None,
    as_json: AsJson = False,
) -> int:
    """Find businesses in an area. Results become leads unless --only-list is given."""
    settings = load_interactive_settings()
    values = {
        "business_type": business_type,
        "location": location,
        "radius_km": radius_km,
        "center": _parse_point(at),
        "provider": provider,
        "max_results": max_results,
        "filters": {"has_website": website, "min_rating": min_rating},
        "repeat_days": repeat_days,
        "go_on": not only_list,
        "dry_run": dry_run,
    }
    body = validate_input(SearchIn, **{k: v for k, v in values.items() if v is not None})
    service.build_params(body, settings)  # reject invalid input before starting a database
    return run(_search(settings, body, tenant, wait=wait, as_json=as_json))


def _parse_point(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    latitude, _, longitude = text.partition(",")
    return {"latitude": latitude.strip(), "longitude": longitude.strip()}


async def _search(
    settings: Settings, request: SearchIn, tenant: str | None, *, wait: bool, as_json: bool
) -> int:
    async with open_context(settings) as context:
        async with context.database.reading() as session:
            actor = await switch_tenant(session, context.actor, tenant)
        if request.dry_run:
            return await _estimate(context, actor, request, as_json)
        created, expected = await _request_search(context, actor, request)
        if not wait:
            print_json(created) if as_json else _print_request(created, expected)
            return ExitCode.OK
        if not as_json:
            note(expected.sentence)
        return await _run_and_report(context, actor, created.search_id, as_json)


async def _estimate(context: CommandContext, actor: Actor, request: SearchIn, as_json: bool) -> int:
    async with context.database.reading() as session:
        expected = await service.estimate(session, actor, context.settings, request)
    if as_json:
        print_json(DryRunOut(estimate=estimate_out(expected)))
    else:
        _print_line(expected.sentence)
    return ExitCode.OK


async def _request_search(
    context: CommandContext, actor: Actor, request: SearchIn
) -> tuple[SearchOut, CostEstimate]:
    async with context.database.transaction() as session:
        job, created, expected = await service.request_search(
            session, actor, context.settings, request
        )
    return search_out(job, expected, already_active=not created), expected


def _print_request(search: SearchOut, expected: CostEstimate) -> None:
    already = " already" if search.already_active else ""
    _print_line(f"Search {search.search_id} is {search.status}{already}. {expected.sentence}")
    _print_line(
        "A worker or `scrapersky serve` runs it. Check its progress with `scrapersky job show`."
    )


async def _run_and_report(
    context: CommandContext, actor: Actor, search_id: UUID, as_json: bool
) -> int:
    try:
        await SearchRun(context, search_id, quiet=as_json).run_to_end()
    except asyncio.CancelledError:
        note(f"Interrupted. Search {search_id} continues when a worker or `scrapersky serve` runs.")
        return ExitCode.INTERRUPTED
    async with context.database.reading() as session:
        job = await service.get_search(session, actor, search_id)
        status = search_status(job, await load_coverage(session, job))
    print_json(status) if as_json else _print_status(status)
    return _get_exit_code(status)


def _print_status(status: SearchStatus) -> None:
    coverage = status.coverage
    summary = f"{format_count(coverage.found, 'place')}, {coverage.new:,} new"
    if status.status == JOB_STATUSES.failed:
        _print_line(f"[red]The search failed[/red]: {escape(status.error or '')}", markup=True)
    elif status.status != JOB_STATUSES.done:
        _print_line(
            f"[yellow]The search is waiting[/yellow]: {escape(status.error or '')}", markup=True
        )
    _print_line(f"{summary}; {status.fits:,} match the filters. {coverage.sentence}")
    spent = f"{format_count(status.requests, 'request')}, {status.paid_requests:,} billable"
    _print_line(f"{spent}; {status.cost_usd:,.2f} USD.")
    if status.attribution:
        _print_line(status.attribution)


def _get_exit_code(status: SearchStatus) -> int:
    if status.status == JOB_STATUSES.done:
        return ExitCode.OK if status.coverage.covered else ExitCode.PARTIAL
    return ExitCode.FAILED if status.status != JOB_STATUSES.queued else ExitCode.PARTIAL


def _print_line(text: str, **how: Any) -> None:
    out.print(text, highlight=False, soft_wrap=True, **{"markup": False, **how})
