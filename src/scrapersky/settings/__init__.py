"""Every setting, typed, from the environment and `.env`."""

from scrapersky.settings.loading import Origin, SettingsSource, is_secret, load_settings
from scrapersky.settings.model import IPNetwork, Settings, default_data_dir
from scrapersky.settings.pace import LARGEST, Pace

__all__ = [
    "LARGEST",
    "IPNetwork",
    "Origin",
    "Pace",
    "Settings",
    "SettingsSource",
    "default_data_dir",
    "is_secret",
    "load_settings",
]
