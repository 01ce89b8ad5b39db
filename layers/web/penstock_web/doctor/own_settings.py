"""The settings of the service: variables that are none, and values that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.settings import SETTINGS, SettingError, Settings
from penstock.settings.unknown import describe_unknown_variables

from .finding import Finding

SUBJECT = "settings"


def check_settings(variables: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for each variable that has no effect, and for each value with which no process starts."""
    for sentence in describe_unknown_variables(variables):
        name = sentence.split(" ", 1)[0]
        yield Finding(
            SUBJECT,
            sentence,
            "the service runs with the default of whatever was meant",
            f"correct the name or `unset {name}`; `penstock settings` lists the settings",
        )
    yield from (
        Finding(
            SUBJECT,
            problem,
            "no process starts with it",
            "correct the value: `penstock settings --markdown` says what each setting takes",
        )
        for problem in unusable_values(variables)
    )


def unusable_values(variables: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each, beginning with the name of its setting."""
    left = dict(variables)
    for _ in SETTINGS:
        try:
            Settings.read(left)
        except SettingError as error:
            yield str(error)
            name = str(error).split(" ", 1)[0].removesuffix(":").removesuffix("_FILE")
            if name not in left and f"{name}_FILE" not in left:
                return  # a default that does not go with another setting: nothing can be taken away
            left.pop(name, None)
            left.pop(f"{name}_FILE", None)
        else:
            return


def usable_settings(variables: Mapping[str, str]) -> Settings:
    """The settings without the values that cannot be used."""
    left = dict(variables)
    for problem in unusable_values(variables):
        name = problem.split(" ", 1)[0].removesuffix(":").removesuffix("_FILE")
        left.pop(name, None)
        left.pop(f"{name}_FILE", None)
    try:
        return Settings.read(left)
    except SettingError:
        return Settings.read({name: left[name] for name in left if name.startswith("DATABASE_")})
