"""Background workers. Each worker is `run_once(settings, connection) -> Counts`. Several processes can run the same
worker."""

from collections.abc import Mapping

Counts = Mapping[str, int]
