"""Finds environment variables whose names resemble settings. Variables with such names are probably mistakes, and have
no effect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from .definition import SETTINGS

_PREFIXES: Final = ("QUEUE_", "SNS_", "WEBHOOK_", "QUOTA_", "OTLP_", "PENSTOCK_")
# Kubernetes gives each container variables with the addresses of services. A service `queue` creates QUEUE_PORT and
# other variables.
_OF_KUBERNETES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_.+)?)").fullmatch
# Likely mistakes that a comparison with the names of settings would not find.
_SAME: Final = {"PENSTOCK_PORT": "QUEUE_ADDRESS", "PENSTOCK_DATABASE_URL": "DATABASE_URL"}
# Other programs also use this prefix, so Penstock reports only a name that resembles a setting without QUEUE_.
_WITHOUT_QUEUE: Final = "METRICS_"
OF_PROGRAMS: Final = frozenset({
    "PENSTOCK_TEST_POSTGRES", "PENSTOCK_DEPLOYMENT", "PENSTOCK_RELEASE", "PENSTOCK_ENDPOINT", "PENSTOCK_TOKEN",
})  # fmt: skip
"""Variables of the command line, the tests and the templates, which are not settings of the service."""


def describe_unknown_variables(variables: Iterable[str]) -> dict[str, str]:
    """Returns, by name, a sentence for each variable whose name only resembles a setting, such as
    QUEUE_MAX_CONECTIONS. Excludes variables that Settings.read refuses, such as QUEUE_REGION_FILE."""
    known = {name for s in SETTINGS for name in (s.name, *((f"{s.name}_FILE",) if s.secret else ()))}
    refused = {f"{s.name}_FILE" for s in SETTINGS if not s.secret}
    found = {}
    for name in sorted(variables):
        if name.startswith(_WITHOUT_QUEUE) and (near := _find_nearest(f"QUEUE_{name}", known)):
            found[name] = _describe(name, near[0])
        if name in found or name in known | refused | OF_PROGRAMS or not name.startswith(_PREFIXES):
            continue
        if name in _SAME or not _OF_KUBERNETES(name):
            found[name] = _describe(name, *_find_meant(name, known))
    return found


def _describe(name: str, meant: str = "") -> str:
    return f"{name} is not a setting and has no effect" + (f"; do you mean {meant}?" if meant else "")


def _find_nearest(name: str, known: set[str]) -> list[str]:
    return get_close_matches(name, known, n=1, cutoff=0.75)


def _find_meant(name: str, known: set[str]) -> list[str]:
    if name in _SAME:
        return [_SAME[name]]
    suffixes = {name.removeprefix("PENSTOCK_"), name.replace("PENSTOCK_", "QUEUE_", 1)}
    return sorted(suffixes & known)[:1] or _find_nearest(name, known)
