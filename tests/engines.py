"""Engines of one process share what they know of our statements.

SQLAlchemy turns a statement into SQL once per engine. The program has one; tests make thousands,
and without this a good part of their time goes into making the same SQL again.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import LRUCache

_DIALECTS: list[Any] = []
"""Of the first engines: the one that meets the server first serves all that come later."""
_SQL: Any = LRUCache(5000)


def sharing_engine(*arguments: Any, **named: Any) -> AsyncEngine:
    engine = create_async_engine(*arguments, **named)
    sync: Any = engine.sync_engine
    met = next((each for each in _DIALECTS if each.server_version_info), None)
    if met is None:
        _DIALECTS.append(sync.dialect)
    else:
        sync.dialect = sync.pool._dialect = met
        sync._compiled_cache = _SQL
    return engine
