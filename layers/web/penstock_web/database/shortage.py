"""Remembers that a process has too few database connections.

After a part of the process fails to get a connection, requests use fewer connections and workers take turns for
SHORTAGE_SECONDS.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from .connect import LimitedAsyncConnection

SHORTAGE_SECONDS = 300.0

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Shortage:
    """A shortage of connections. `turn` is the lock that the running worker holds during a shortage. `on_shortage` has
    functions that close idle connections of other parts of the process; each returns whether it has closed a
    connection. `given_up` has the closed connections that still count in the pool.
    """

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    on_shortage: list[Callable[[], bool]] = field(default_factory=list)
    given_up: list[LimitedAsyncConnection] = field(default_factory=list)
    _until: float = 0.0
    _requests_until: float = 0.0

    @property
    def is_short(self) -> bool:
        """Returns whether the process has too few connections, so that workers take turns."""
        return monotonic() < self._until

    @property
    def is_very_short(self) -> bool:
        """Returns whether requests have only one connection left, so that workers also use the LISTEN connection."""
        return monotonic() < self._requests_until

    def note(self, name: str, cause: object) -> None:
        """Begins or prolongs the shortage, because the part of the process called `name` got no connection."""
        if not self.is_short:
            extra = {"worker": name, "cause": " ".join(str(cause).split())}
            _log.warning("too few database connections: requests give some up, workers take turns", extra=extra)
        self._until = monotonic() + SHORTAGE_SECONDS

    def note_last_connection(self) -> None:
        """Says that requests have only one connection left until the shortage ends."""
        self._requests_until = self._until
