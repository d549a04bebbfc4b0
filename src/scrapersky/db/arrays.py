"""Many rows as the arguments of one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, column, func, literal
from sqlalchemy.sql.selectable import TableValuedAlias


def table_of(**columns: tuple[Any, Sequence[Any]]) -> TableValuedAlias:
    """Rows as one array per column, so that one statement serves any number of them."""
    arrays = [literal(list(values), ARRAY(kind)) for kind, values in columns.values()]
    named: list[Any] = [column(name, kind) for name, (kind, _) in columns.items()]
    return func.unnest(*arrays).table_valued(*named).render_derived("given")
