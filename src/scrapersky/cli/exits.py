"""What the program's exit codes mean."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
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
