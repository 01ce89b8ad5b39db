"""The interface of the queues that a worker receives from: `sqs.py` and `sql.py` implement it."""

from collections.abc import Sequence
from typing import Final, Protocol

from .message import Message

MAX_ERROR_CHARACTERS: Final = 1_024
"""How many characters of a cause Penstock stores."""


class GoneError(Exception):
    """Another consumer has deleted the message meanwhile. The work of this handler was rolled back."""


class Queue(Protocol):
    """All methods but `receive` can be called by several threads at once."""

    system: str
    """The value of OpenTelemetry's attribute messaging.system."""
    max_messages: int
    """How many messages a receive can return."""
    idle_seconds: float
    """The pause after a receive without messages."""

    def receive(self, count: int) -> list[Message]:
        """Receives up to `count` messages."""
        ...

    def handle(self, message: Message) -> None:
        """Runs the handler. Raises what the handler raises. Raises GoneError over SQL."""
        ...

    def delete(self, message: Message) -> None:
        """Deletes a handled message, if `handle` has not."""
        ...

    def extend(self, messages: Sequence[Message], seconds: int) -> list[Message]:
        """Makes messages invisible for this time from now. Returns those that do not exist any more, or that another
        consumer has."""
        ...

    def fail(self, message: Message, error: str, pause_seconds: int) -> None:
        """Stores the cause, and makes the message visible after the pause."""
        ...

    def release(self, messages: Sequence[Message]) -> None:
        """Makes messages visible at once."""
        ...

    def close(self) -> None: ...


def describe(error: BaseException) -> str:
    """Returns the cause of a failure as a text that PostgreSQL can store, of at most 1,024 characters."""
    text = f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS]
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
