"""Exit codes, and the conversion of exceptions to a one-line message on standard error."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum

import typer
from rich.markup import escape

from scrapersky.cli.output import err
from scrapersky.errors import InvalidInput, ScraperSkyError, SettingsError
from scrapersky.redaction import redact


class ExitCode(IntEnum):
    OK = 0
    """Success."""
    FAILED = 1
    """Failed; the message on standard error says why."""
    USAGE = 2
    """Invalid arguments or settings; nothing was done."""
    PARTIAL = 3
    """Finished, but the result is incomplete."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C or `kill`; unfinished rows were released."""


def run_command(command: Callable[[], object]) -> int:
    """Run a command and return its exit code. Tracebacks appear only with LOG_LEVEL=debug."""
    try:
        answer = command()
        sys.stdout.flush()
        return answer if isinstance(answer, int) else ExitCode.OK
    except (BrokenPipeError, SystemExit):
        # Typer turns a BrokenPipeError into SystemExit, and nothing else.
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
    message = escape(redact(sentence))
    err.print(f"[red]Error:[/red] {message}", soft_wrap=True, highlight=False)
    return code


def _discard_output() -> None:
    """Redirect stdout to /dev/null: the reader closed the pipe, and Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_usage_error(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    sentence = error.format_message().strip()
    if not sentence:  # called without arguments: the help was printed already
        return error.exit_code
    print_error(sentence, ExitCode.USAGE)
    if context is not None:
        err.print(f"Try `{context.command_path} --help`.", soft_wrap=True, highlight=False)
    return error.exit_code


def _is_database_unreachable(error: Exception) -> bool:
    """Return whether the connection was lost or could not be made.

    The driver reports the second case as a plain `OSError`, so the traceback decides.
    """
    from scrapersky.db.outages import is_unavailable  # loads the driver, which --help must not

    if is_unavailable(error):
        return True
    frames = traceback.walk_tb(error.__traceback__)
    through = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames}
    return isinstance(error, OSError) and "asyncpg" in through


def _print_database_unreachable() -> int:
    return print_error("The database is unreachable. Try again when it is back.", ExitCode.FAILED)


def _print_unexpected_error(error: Exception) -> int:
    if os.environ.get("LOG_LEVEL", "").lower() == "debug":
        sys.stderr.write(redact(traceback.format_exc()))
    cause = getattr(error, "orig", None) or error
    first_line = str(cause).strip().partition("\n")[0][:300]
    what = f"{type(cause).__name__}: {first_line}" if first_line else type(cause).__name__
    return print_error(
        f"Unexpected error ({what}). Run with LOG_LEVEL=debug for the traceback.",
        ExitCode.FAILED,
    )
