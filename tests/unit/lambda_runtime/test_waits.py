"""How long a request to the gateway may wait, and for whom there is a slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.effects import Statement
from penstock.errors import ServiceUnavailable
from penstock.lambda_runtime.waits import bound_waits
from penstock.postgres.statements.long_polls import RELEASE_POLL_SLOT, TAKE_POLL_SLOT
from penstock.settings import Settings


class Slots:
    """A database that has free slots or not; `calls`: the statements that were called, and with what."""

    def __init__(self, free: int = 1, *, is_lost_later: bool = False) -> None:
        self.free = free
        self.is_lost_later = is_lost_later
        self.calls: list[tuple[Statement[Any], Sequence[object]]] = []

    def call(self, statement: Statement[Any], arguments: Sequence[object]) -> list[Any]:
        self.calls.append((statement, arguments))
        if statement is RELEASE_POLL_SLOT and self.is_lost_later:
            raise ServiceUnavailable
        return [(1,)] * self.free

    @property
    def statements(self) -> list[Statement[Any]]:
        return [statement for statement, _ in self.calls]


def settings(concurrency: int, wait_seconds: int = 2) -> Settings:
    return Settings.read({}, queue_lambda_concurrency=concurrency, queue_lambda_wait_seconds=wait_seconds)


def granted(database: Slots, settings: Settings, *wanted: float) -> list[float]:
    """What a request that wants to wait so long, again and again, is granted."""
    with bound_waits(settings, "penstock-Gateway", database) as waits:
        return [waits.grant(seconds) for seconds in wanted]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((20.0,), [2.0]),
        ((1.5,), [1.5]),
        ((0.0,), [0.0]),
        ((1.0, 1.0, 1.0), [1.0, 1.0, 0.0]),  # a queue at its limit of messages in flight
        ((1.5, 1.5), [1.5, 0.5]),
    ],
)
def test_all_waits_of_a_request_together(wanted: tuple[float, ...], expected: list[float]) -> None:
    database = Slots()
    assert granted(database, settings(0), *wanted) == expected
    assert database.calls == []  # there is no limit of slots


def test_a_request_takes_one_slot_and_gives_it_back() -> None:
    database = Slots()
    assert granted(database, settings(9), 1.0, 1.0) == [1.0, 1.0]
    assert database.statements == [TAKE_POLL_SLOT, RELEASE_POLL_SLOT]
    (_, taken), (_, released) = database.calls
    name, holder, slots, seconds = taken
    assert (name, slots) == ("penstock-Gateway", 2)  # a quarter of nine
    assert float(str(seconds)) > 2  # it does not end before the wait
    assert list(released) == [name, holder]


def test_who_does_not_wait_takes_none() -> None:
    database = Slots()
    assert granted(database, settings(9), 0.0) == [0.0]
    assert granted(database, settings(9, wait_seconds=0), 20.0) == [0.0]
    assert database.calls == []


def test_without_a_free_slot_nobody_waits() -> None:
    database = Slots(free=0)
    assert granted(database, settings(4), 20.0, 1.0) == [0.0, 0.0]
    assert database.statements == [TAKE_POLL_SLOT]  # asked once, and nothing to give back


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_quarter_of_less_than_four_is_none(concurrency: int) -> None:
    database = Slots()
    assert granted(database, settings(concurrency), 20.0) == [0.0]
    assert database.calls == []


def test_a_result_is_not_lost_with_the_slot() -> None:
    assert granted(Slots(is_lost_later=True), settings(4), 1.0) == [1.0]
