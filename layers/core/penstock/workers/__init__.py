"""Background work. Every worker is `run_once(settings, connection) -> Counts`; any number may run at once."""

from collections.abc import Mapping

Counts = Mapping[str, int]
