"""Finds unknown variables and invalid values in the service's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.settings import SettingError, Settings
from penstock.settings.unknown import describe_unknown_variables

from .examination import Finding

SUBJECT = "settings"


def check_settings(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a finding for each variable without effect, and for each invalid value."""
    for name, sentence in describe_unknown_variables(variables).items():
        yield Finding(
            SUBJECT,
            sentence,
            "the intended setting keeps its default",
            f"correct the name, or run `unset {name}`; `penstock settings` lists the settings",
        )
    _, errors = _read_usable(variables)
    for error in errors:
        yield Finding(
            SUBJECT,
            str(error),
            "the service does not start with this value",
            "correct the value: `penstock settings --markdown` lists the allowed values of each setting",
        )


def find_usable_settings(variables: Mapping[str, str]) -> Settings:
    """Returns the settings without the invalid values."""
    settings, _ = _read_usable(variables)
    return settings


def _read_usable(variables: Mapping[str, str]) -> tuple[Settings, list[SettingError]]:
    """Returns the settings without invalid values, and the errors of the invalid values.

    Omitting a value can cause another error, because the default can conflict with another setting. In that
    case, the settings are the database's addresses, and defaults for all other settings.
    """
    left = dict(variables)
    found: list[SettingError] = []
    while True:
        try:
            return Settings.read(left), found
        except SettingError as error:
            found.append(error)
            if not {error.name, f"{error.name}_FILE"} & left.keys():
                return Settings.read({name: left[name] for name in left if name.startswith("DATABASE_")}), found
            left.pop(error.name, None)
            left.pop(f"{error.name}_FILE", None)
