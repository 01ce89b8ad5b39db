"""What a worker's decorator accepts, with the defaults and limits."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypedDict

MAX_VISIBILITY_SECONDS: Final = 43_200
"""SQS: "The maximum is 12 hours from the time that Amazon SQS receives the ReceiveMessage request"."""
MAX_WAIT_SECONDS: Final = 20
"""SQS, ReceiveMessage: WaitTimeSeconds."""

Backoff = Callable[[int], float]


def exponential_backoff(first_seconds: float = 10, max_seconds: float = 900) -> Backoff:
    """Returns a function from the number of receives to the pause in seconds. Each pause has twice the length of the
    previous pause, up to the maximum."""

    def pause(receive_count: int) -> float:
        doublings = min(max(receive_count - 1, 0), 32)
        return float(min(first_seconds * 2**doublings, max_seconds))

    return pause


class Options(TypedDict, total=False):
    """The keyword arguments of `worker` that both kinds of queues accept; `Settings` describes them."""

    concurrency: int
    visibility_timeout: int
    wait_seconds: float | None
    backoff: Backoff


@dataclass(frozen=True, slots=True)
class Settings:
    """Raises ValueError for a value outside of its limits."""

    concurrency: int = 1
    """How many messages the worker handles at once, each in a thread or, if the handler is asynchronous, in a task."""
    visibility_timeout: int = 30
    """Seconds after which other consumers receive the messages of a worker that has died, 3 to 43,200. The worker
    extends the visibility of running messages every third of this time."""
    wait_seconds: float | None = None
    """Over SQS, how long a receive waits for a message: 0 to 20, in whole seconds, by default 5. An idle worker needs
    up to this time to stop. Over SQL, the pause after a receive without messages, 0 to 20, by default 1."""
    backoff: Backoff = field(default_factory=exponential_backoff)
    """The pause in seconds before the next attempt, for the number of receives; `exponential_backoff` by default."""

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        if not 3 <= self.visibility_timeout <= MAX_VISIBILITY_SECONDS:
            raise ValueError(f"visibility_timeout must be between 3 and {MAX_VISIBILITY_SECONDS} seconds")
        if self.wait_seconds is not None and not 0 <= self.wait_seconds <= MAX_WAIT_SECONDS:
            raise ValueError(f"wait_seconds must be between 0 and {MAX_WAIT_SECONDS}")

    def pause_seconds(self, receive_count: int) -> int:
        """Returns the backoff as a visibility timeout, which has whole seconds."""
        return max(0, min(math.ceil(self.backoff(receive_count)), MAX_VISIBILITY_SECONDS))
