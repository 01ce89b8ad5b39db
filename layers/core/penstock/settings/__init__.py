"""The settings of Penstock. `definition.py` declares each setting once, and `make generate` writes all files that name
settings.

    from penstock.settings import Settings
    settings = Settings.read(os.environ)          # once per process, in an entry point
    settings.queue_max_connections                # 10

The package does not read the environment. An invalid value raises SettingError, which names the setting.
"""

from .definition import ADDRESSES, DRIVERS, IAM_TOKEN, PROTOCOLS, SETTINGS, SUBJECTS, Settings
from .setting import Setting, SettingError, Value

__all__ = (
    "ADDRESSES", "DRIVERS", "IAM_TOKEN", "PROTOCOLS", "SETTINGS", "SUBJECTS", "Setting", "SettingError", "Settings",
    "Value",
)  # fmt: skip
