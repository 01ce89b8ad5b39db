"""Limits how long a request to a function that serves many actions waits for messages, and how many requests wait at
once.

Behind the HTTP API, the gateway serves all SDK calls, because each call is `POST /`, and `rest` serves the whole REST
API. While a request waits, other requests cannot use its execution environment. Therefore a request waits at most
QUEUE_LAMBDA_WAIT_SECONDS. If the function's concurrency is known (QUEUE_LAMBDA_CONCURRENCY), the waiting requests can
use only a quarter of the concurrency. Each waiting request has a slot, which is a row in the database. A request
without a slot does not wait.

A load balancer routes ReceiveMessage to a separate function, which does not delay other requests. The separate function
waits for the whole time that the request specifies.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from penstock.errors import InternalFailure, ServiceUnavailable
from penstock.postgres.statements.long_polls import RELEASE_POLL_SLOT, TAKE_POLL_SLOT
from penstock.settings import Settings

if TYPE_CHECKING:
    from penstock.drivers import StatementExecutor

WAITING_SHARE: Final = 4
"""One in four execution environments can wait."""
EXTRA_SECONDS: Final = 5.0
"""A slot expires this many seconds after the end of the wait, because Lambda can freeze or kill the environment."""


class BoundedWaits:
    """Limits the waits of one operation. `slots` is the number of requests of the function `function_name` that can
    wait at once, or None for any number.
    """

    def __init__(self, seconds: float, slots: int | None, function_name: str, database: "StatementExecutor") -> None:
        self._left = seconds
        self._slots = slots
        self._function_name = function_name
        self._database = database
        self._holder: UUID | None = None

    def grant(self, seconds: float) -> float:
        """Returns the number of seconds that the request can wait, which is at most `seconds`. Raises the errors of
        `call`."""
        granted = min(seconds, self._left)
        if granted > 0 and not self._may_wait():
            granted = self._left = 0
        self._left -= granted
        return granted

    def end(self) -> None:
        """Releases the slot. If the database fails, the slot expires later, and the client still receives the
        result."""
        if self._holder is not None:
            with suppress(ServiceUnavailable, InternalFailure):
                self._database.call(RELEASE_POLL_SLOT, (self._function_name, self._holder))

    def _may_wait(self) -> bool:
        """Returns whether the request can wait. Takes a slot if the request needs a slot and has none."""
        if self._slots is None or self._holder is not None:
            return True
        if self._slots == 0:
            return False
        holder = uuid4()
        seconds = self._left + EXTRA_SECONDS
        if not self._database.call(TAKE_POLL_SLOT, (self._function_name, holder, self._slots, seconds)):
            return False
        self._holder = holder
        return True


@contextmanager
def bound_waits(settings: Settings, function_name: str, database: "StatementExecutor") -> Iterator[BoundedWaits]:
    """Limits the waits of one operation, and releases the slot at the end."""
    concurrency = settings.queue_lambda_concurrency
    slots = concurrency // WAITING_SHARE if concurrency else None
    waits = BoundedWaits(settings.queue_lambda_wait_seconds, slots, function_name, database)
    try:
        yield waits
    finally:
        waits.end()
