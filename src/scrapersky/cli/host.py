"""`scrapersky host`: list hosts with their circuit state, and reset one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.cli.options import AsJson
from scrapersky.cli.output import build_table, note, out, print_json, print_table
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.operations import service
from scrapersky.operations.routes import HostOut, host_out
from scrapersky.pipeline.tables import Host

app = typer.Typer(help="List hosts and reset their circuit breakers.", no_args_is_help=True)

LeftAlone = Annotated[bool, typer.Option("--left-alone", help="Only hosts that are backing off.")]
Count = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Maximum number of rows.")]


@app.command("list")
def list_hosts(left_alone: LeftAlone = False, limit: Count = 1000, as_json: AsJson = False) -> int:
    """List hosts with requests in flight, failures and the end of their backoff."""

    async def step(session: AsyncSession, context: CommandContext) -> list[HostOut]:
        hosts = await service.list_hosts(session, left_alone=left_alone, limit=limit)
        return [host_out(host, in_flight) for host, in_flight in hosts]

    def show(hosts: Sequence[HostOut]) -> None:
        if as_json:
            print_json(hosts)
        elif hosts:
            _print_hosts(hosts)
        else:
            out.print("No hosts are backing off." if left_alone else "No hosts yet.")

    return run_in_transaction(step, show)


def _print_hosts(hosts: Sequence[HostOut]) -> None:
    table = build_table(
        "host", "in flight", "failures", "backing off until", "reason", right=["failures"]
    )
    for each in hosts:
        until = each.circuit_open_until
        table.add_row(
            each.host,
            str(each.in_flight),
            str(each.failures),
            f"{until:%Y-%m-%d %H:%M:%S}" if until else "",
            each.circuit_reason or "",
        )
    print_table(table)


@app.command("ask-again")
def ask_again(host: Annotated[str, typer.Argument(help="Host name, as listed.")]) -> int:
    """Reset the failures of a host, so that the next request is sent immediately."""

    async def step(session: AsyncSession, context: CommandContext) -> tuple[Host, int]:
        return await service.reset_host(session, context.actor, host.lower())

    return run_in_transaction(
        step, lambda result: note(f"Circuit breaker of {result[0].host} reset.")
    )
