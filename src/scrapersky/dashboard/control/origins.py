"""Where the settings of this process came from when it started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from scrapersky.settings import Origin, Settings, SettingsSource


@dataclass(frozen=True)
class AsStarted(SettingsSource):
    """What was read then: a file that was changed since is in force with the next start only."""

    file_said: Mapping[str, str] = field(default_factory=dict)

    def from_file(self) -> dict[str, str]:
        return dict(self.file_said)


def started_with(settings: Settings) -> AsStarted:
    read = settings.environ
    return AsStarted(
        environ={name: value for name, value in read.items() if name in os.environ},
        file_said={name: value for name, value in read.items() if name not in os.environ},
    )


def origin_in_words(origin: Origin) -> str:
    return {
        Origin.DEFAULT: "default",
        Origin.FILE: ".env",
        Origin.ENVIRONMENT: "environment",
    }[origin]
