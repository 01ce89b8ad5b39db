"""Counts what becomes of the events of each subscriber, for the REST API, the console and the metrics.

A worker stores the counts every few seconds, because an update of one row by each step would slow down the later ones
while an old snapshot exists. If the worker crashes, it loses the counts of these seconds, but it loses no event.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

import msgspec

from penstock.calls import transpose
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.event_delivery import ADD_EVENT_OUTCOMES

from .subscriber import Refusal

STORE_SECONDS: Final = 5.0


class Outcome(msgspec.Struct):
    """`refused` counts attempts, and `failed` events whose delivery has ended without success. `code` and `message` are
    of the last refusal."""

    delivered: int = 0
    refused: int = 0
    failed: int = 0
    code: str | None = None
    message: str | None = None


class Outcomes:
    """The outcomes of one worker since its last call of `store`, by bus and subscriber.

    The outcomes of a step count only if the step succeeds.
    """

    def __init__(self) -> None:
        self._open: list[tuple[tuple[int, int], Refusal | None]] = []
        self._ended: list[tuple[int, int]] = []
        self._done: dict[tuple[int, int], Outcome] = {}
        self._next_store = 0.0

    @property
    def is_empty(self) -> bool:
        return not self._done

    @contextmanager
    def count_step(self) -> Iterator[None]:
        """Counts what the step inside notes. If the step fails, forgets it, because the server has rolled it back."""
        self._open.clear()
        self._ended.clear()
        yield
        self._count()

    def note(self, bus_id: int, results: Iterable[tuple[int, Refusal | None]], ended: Iterable[int]) -> None:
        """Notes the attempts of a step by subscriber, and the subscribers of events whose delivery has failed."""
        self._open += [((bus_id, subscriber_id), refusal) for subscriber_id, refusal in results]
        self._ended += [(bus_id, subscriber_id) for subscriber_id in ended]

    def _count(self) -> None:
        for key, refusal in self._open:
            outcome = self._done.setdefault(key, Outcome())
            if refusal is None:
                outcome.delivered += 1
            else:
                outcome.refused += 1
                outcome.code, outcome.message = refusal.code, refusal.text
        for key in self._ended:
            self._done.setdefault(key, Outcome()).failed += 1

    def store(self, calls: TransactionExecutor) -> None:
        """Stores the counts, unless a store was less than 5 seconds ago. Raises psycopg.Error."""
        if self._done and monotonic() >= self._next_store:
            self._next_store = monotonic() + STORE_SECONDS
            rows = [
                (*key, each.delivered, each.refused, each.failed, each.code, each.message)
                for key, each in self._done.items()
            ]
            calls.call(ADD_EVENT_OUTCOMES, list(transpose(rows, 7)))
            self._done.clear()
