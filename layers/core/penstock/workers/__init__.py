"""Background workers. Each is `run_once(settings, connection) -> Counts`; several processes may run one at a time."""

from collections.abc import Mapping

Counts = Mapping[str, int]
