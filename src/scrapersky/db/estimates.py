"""Ask the planner: how many rows a statement would find, and what finding them would cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Executable, Select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement


@dataclass(frozen=True)
class Estimate:
    rows: int
    cost: float
    """In the planner's unit: reading one page of 8 kB in sequence is 1."""


class Explain(Executable, ClauseElement):
    """A statement that is planned and not run."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explain(element: Explain, compiler: Any, **how: Any) -> str:
    planned = compiler.process(element.statement, **how)
    return f"EXPLAIN (FORMAT JSON) {planned}"


async def plan_of(session: AsyncSession, statement: Select[Any]) -> dict[str, Any]:
    """The plan's uppermost node, with those below it."""
    connection = await session.connection()
    answer = (await connection.execute(Explain(statement))).scalar_one()
    found: dict[str, Any] = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    return found


async def estimate(session: AsyncSession, statement: Select[Any]) -> Estimate:
    plan = await plan_of(session, statement)
    return Estimate(rows=int(plan["Plan Rows"]), cost=float(plan["Total Cost"]))
