"""Every setting, typed, from the environment and `.env`."""

from scrapersky.settings.loading import Origin, SettingsSource, is_secret, load_settings
from scrapersky.settings.model import DEFAULT_SYSTEM_USER_ID, Settings, default_data_dir
from scrapersky.settings.pace import LARGEST, Pace
from scrapersky.settings.values import AllowedNetwork, IPAddress, IPNetwork

__all__ = [
    "DEFAULT_SYSTEM_USER_ID",
    "LARGEST",
    "AllowedNetwork",
    "IPAddress",
    "IPNetwork",
    "Origin",
    "Pace",
    "Settings",
    "SettingsSource",
    "default_data_dir",
    "is_secret",
    "load_settings",
]
