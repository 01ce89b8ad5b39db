"""Runs a call that is expected to wait for a lock, in a separate thread and on a separate connection."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from tests.support.sql.calls import Connection, value
from tests.support.wait import wait_until

T = TypeVar("T")
_WAITS = "select coalesce(bool_or(wait_event_type = 'Lock'), false) from pg_stat_activity where pid = %s"


class BackgroundCall(Generic[T]):
    """Runs `call(connection)`. `result` waits for the call and raises its error."""

    def __init__(self, connection: Connection, call: Callable[[Connection], T]) -> None:
        self._connection, self._call = connection, call
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._pid = connection.info.backend_pid
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._call(self._connection))
        except BaseException as error:  # noqa: BLE001 - raised again by `result`
            self._error = error

    def wait_until_blocked(self, observer: Connection) -> None:
        """Returns when the call waits for a lock. Fails if the call ended instead."""
        wait_until(lambda: not self._thread.is_alive() or bool(value(observer, _WAITS, self._pid)))
        assert self._thread.is_alive(), "the call did not wait"

    def result(self) -> T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]
