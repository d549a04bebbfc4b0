"""Turn whatever goes wrong into one sentence on standard error and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import typer
from rich.markup import escape

from scrapersky.cli.exits import Exit
from scrapersky.cli.output import err
from scrapersky.db.away import is_away
from scrapersky.errors import InvalidInput, ScraperSkyError, SettingsError
from scrapersky.redaction import redact


def guarded(command: Callable[[], object]) -> int:
    """Run a command; nobody ever sees a traceback unless they ask for one."""
    try:
        answer = command()
        sys.stdout.flush()
        return answer if isinstance(answer, int) else Exit.OK
    except (BrokenPipeError, SystemExit):
        # Typer makes the second of the first, and of nothing else.
        _drop_output()
        return Exit.OK
    except (KeyboardInterrupt, typer.Abort):
        return Exit.INTERRUPTED
    except typer.TyperException as error:
        return _usage(error)
    except (InvalidInput, SettingsError) as error:
        return complain(str(error), Exit.USAGE)
    except ScraperSkyError as error:
        return complain(str(error), Exit.FAILED)
    except Exception as error:
        return _database_away() if _is_database_away(error) else _unexpected(error)


def complain(sentence: str, code: Exit) -> int:
    said = escape(redact(sentence))
    err.print(f"[red]Error:[/red] {said}", soft_wrap=True, highlight=False)
    return code


def _drop_output() -> None:
    """Whoever read our output has had enough; Python must not try to flush the rest at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    sentence = error.format_message().strip()
    if not sentence:  # help was asked for by giving nothing, and has been shown
        return error.exit_code
    complain(sentence, Exit.USAGE)
    if context is not None:
        err.print(f"Try `{context.command_path} --help`.", soft_wrap=True, highlight=False)
    return error.exit_code


def _is_database_away(error: Exception) -> bool:
    """A connection that was lost, or that could not be made: the driver tells the second by
    whatever the system said."""
    if is_away(error):
        return True
    frames = traceback.walk_tb(error.__traceback__)
    through = {frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in frames}
    return isinstance(error, OSError) and "asyncpg" in through


def _database_away() -> int:
    return complain("The database is away; start again once it is back.", Exit.FAILED)


def _unexpected(error: Exception) -> int:
    if os.environ.get("LOG_LEVEL", "").lower() == "debug":
        sys.stderr.write(redact(traceback.format_exc()))
    cause = getattr(error, "orig", None) or error
    first_line = str(cause).strip().partition("\n")[0][:300]
    what = f"{type(cause).__name__}: {first_line}" if first_line else type(cause).__name__
    return complain(
        f"Something went wrong that should not ({what}); "
        "run with LOG_LEVEL=debug for the traceback.",
        Exit.FAILED,
    )
