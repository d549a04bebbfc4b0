"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as the API would answer.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]
OfTenant = Annotated[
    str | None, typer.Option("--tenant", help="A tenant's name or id; left out: your own.")
]
StageName = Annotated[str, typer.Argument(help="See `scrapersky stage list`.")]
