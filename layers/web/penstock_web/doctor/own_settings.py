"""Finds unknown variables and invalid values in the service's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.settings import SETTINGS, SettingError, Settings
from penstock.settings.unknown import describe_unknown_variables

from .examination import Finding

SUBJECT = "settings"


def check_settings(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Yields a finding for each variable without effect, and for each value that prevents a process's start."""
    for sentence in describe_unknown_variables(variables):
        name = sentence.split(" ", 1)[0]
        yield Finding(
            SUBJECT,
            sentence,
            "the service runs with the default of the intended setting",
            f"correct the name or `unset {name}`; `penstock settings` lists the settings",
        )
    yield from (
        Finding(
            SUBJECT,
            problem,
            "no process starts with it",
            "correct the value: `penstock settings --markdown` lists the allowed values of each setting",
        )
        for problem in unusable_values(variables)
    )


def unusable_values(variables: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each invalid value. The sentence begins with the name of the setting."""
    left = dict(variables)
    for _ in SETTINGS:
        try:
            Settings.read(left)
        except SettingError as error:
            yield str(error)
            name = str(error).split(" ", 1)[0].removesuffix(":").removesuffix("_FILE")
            if name not in left and f"{name}_FILE" not in left:
                return  # A default conflicts with another setting, so no value can be removed.
            left.pop(name, None)
            left.pop(f"{name}_FILE", None)
        else:
            return


def usable_settings(variables: Mapping[str, str]) -> Settings:
    """Returns the settings without the invalid values."""
    left = dict(variables)
    for problem in unusable_values(variables):
        name = problem.split(" ", 1)[0].removesuffix(":").removesuffix("_FILE")
        left.pop(name, None)
        left.pop(f"{name}_FILE", None)
    try:
        return Settings.read(left)
    except SettingError:
        return Settings.read({name: left[name] for name in left if name.startswith("DATABASE_")})
