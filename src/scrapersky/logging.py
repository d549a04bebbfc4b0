"""Structured logging with redaction."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from scrapersky.redaction import redact

QUIET_LOGGERS = ("apscheduler", "asyncio", "alembic", "aiohttp.access", "uvicorn.access")
"""Libraries that are verbose at info. The events we need from them are logged by our own code."""


def configure_logging(*, level: str = "info", style: str = "console") -> None:
    """Send our logs and those of libraries to standard error, as text or as JSON."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if style == "json"
        # Plain tracebacks, because the pretty ones print local variables.
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                render,
                _redact_line,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def _redact_line(_logger: object, _method: str, line: Any) -> str:
    """Redact the rendered line. This processor runs last, so that no log call can bypass it."""
    return redact(str(line))


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger
