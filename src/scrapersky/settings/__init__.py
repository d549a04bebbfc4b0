"""Every setting, typed, from the environment and `.env`."""

from scrapersky.settings.loader import SettingOrigin, SettingsSource, is_secret, load_settings
from scrapersky.settings.model import DEFAULT_SYSTEM_USER_ID, Settings, default_data_dir
from scrapersky.settings.values import (
    MAX_SETTING_NUMBER,
    AllowedNetwork,
    IPAddress,
    IPNetwork,
    Pace,
)

__all__ = [
    "DEFAULT_SYSTEM_USER_ID",
    "MAX_SETTING_NUMBER",
    "AllowedNetwork",
    "IPAddress",
    "IPNetwork",
    "Pace",
    "SettingOrigin",
    "Settings",
    "SettingsSource",
    "default_data_dir",
    "is_secret",
    "load_settings",
]
