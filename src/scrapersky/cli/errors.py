"""Exit codes, and the conversion of exceptions to one line on standard error."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum

import typer
from rich.markup import escape

from scrapersky.cli.output import err
from scrapersky.db.outages import is_unavailable
from scrapersky.errors import InvalidInput, ScraperSkyError, SettingsError
from scrapersky.redaction import redact


class ExitCode(IntEnum):
    OK = 0
    """Done, all of it."""
    FAILED = 1
    """Not done; the sentence on standard error says why."""
    USAGE = 2
    """What was typed, or a setting, cannot be; nothing was done."""
    PARTIAL = 3
    """Done, but not all of it could be had."""
    INTERRUPTED = 130
    """Ctrl-C or `kill`; unfinished rows were handed back."""


def run_command(command: Callable[[], object]) -> int:
    """Run a command; nobody ever sees a traceback unless they ask for one."""
    try:
        answer = command()
        sys.stdout.flush()
        return answer if isinstance(answer, int) else ExitCode.OK
    except (BrokenPipeError, SystemExit):
        # Typer makes the second of the first, and of nothing else.
        _discard_output()
        return ExitCode.OK
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:
        return _print_usage_error(error)
    except (InvalidInput, SettingsError) as error:
        return print_error(str(error), ExitCode.USAGE)
    except ScraperSkyError as error:
        return print_error(str(error), ExitCode.FAILED)
    except Exception as error:
        return (
            _print_database_unreachable()
            if _is_database_unreachable(error)
            else _print_unexpected_error(error)
        )


def print_error(sentence: str, code: ExitCode) -> int:
    said = escape(redact(sentence))
    err.print(f"[red]Error:[/red] {said}", soft_wrap=True, highlight=False)
    return code


def _discard_output() -> None:
    """Whoever read our output has had enough; Python must not try to flush the rest at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_usage_error(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    sentence = error.format_message().strip()
    if not sentence:  # help was asked for by giving nothing, and has been shown
        return error.exit_code
    print_error(sentence, ExitCode.USAGE)
    if context is not None:
        err.print(f"Try `{context.command_path} --help`.", soft_wrap=True, highlight=False)
    return error.exit_code


def _is_database_unreachable(error: Exception) -> bool:
    """A connection that was lost, or that could not be made: the driver tells the second by
    whatever the system said."""
    if is_unavailable(error):
        return True
    frames = traceback.walk_tb(error.__traceback__)
    through = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames}
    return isinstance(error, OSError) and "asyncpg" in through


def _print_database_unreachable() -> int:
    return print_error("The database is away; start again once it is back.", ExitCode.FAILED)


def _print_unexpected_error(error: Exception) -> int:
    if os.environ.get("LOG_LEVEL", "").lower() == "debug":
        sys.stderr.write(redact(traceback.format_exc()))
    cause = getattr(error, "orig", None) or error
    first_line = str(cause).strip().partition("\n")[0][:300]
    what = f"{type(cause).__name__}: {first_line}" if first_line else type(cause).__name__
    return print_error(
        f"Something went wrong that should not ({what}); "
        "run with LOG_LEVEL=debug for the traceback.",
        ExitCode.FAILED,
    )
