"""Tests the notes of the actors of `make chaos` about calls without an answer.

Also tests every order of steps of the storage's model: two consumers, up to four messages, one crash or failover.

Budgets limit the numbers of sends, receives, time-outs, changed visibilities and failures.

`make cases` writes a page that has all cases.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support.cases.table import ALL, page
from tests.support.chaos.actors import Actor, produce_poison
from tests.support.chaos.traffic import NoAnswerError, RefusedError, Traffic
from tests.support.ledger import Ledger
from tests.support.model.storage import Rules, ViolationError, explore


class FakeConnection:
    """Each call ends with this error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def sqs(self, action: str, **request: Any) -> Any:
        raise self.error


def actor_whose_calls_end_with(error: Exception) -> Actor:
    """Returns an actor whose queue `poison` has a message that was received once, with a maximum of two."""
    ledger = Ledger(maximum=2)
    ledger.sending(["m"])
    ledger.sent(["m"], [1])
    ledger.delivered(["m"], ledger.clock(), 0)
    endpoint = cast("Any", None)
    traffic = Traffic([1], endpoint, endpoint, seed=1, ledgers={"poison": ledger, "standard": Ledger()})
    actor = Actor(traffic, 0, "test")
    actor.connection = cast("Any", FakeConnection(error))
    return actor


def violations(actor: Actor) -> dict[str, int]:
    """Returns the violations after the message was found in the dead-letter queue."""
    ledger = actor.traffic.ledgers["poison"]
    ledger.moved(["m"])
    return ledger.findings().violations


def test_a_send_without_an_answer_may_have_received_for_a_long_poll() -> None:
    """tests/integration/web/long_poll/test_direct_handoff.py shows this case."""
    actor = actor_whose_calls_end_with(NoAnswerError(503, "1"))
    with pytest.raises(NoAnswerError):
        produce_poison(actor)
    assert violations(actor) == {}


def test_a_receive_without_an_answer_may_have_received() -> None:
    actor = actor_whose_calls_end_with(NoAnswerError(None))
    with pytest.raises(NoAnswerError):
        actor.receive("poison", 1)
    assert violations(actor) == {}


def test_a_send_that_was_refused_received_nothing() -> None:
    actor = actor_whose_calls_end_with(RefusedError("no"))
    with pytest.raises(RefusedError):
        produce_poison(actor)
    assert violations(actor) == {"beyond_maximum": 1}


def test_a_call_about_another_queue_excuses_nothing() -> None:
    actor = actor_whose_calls_end_with(NoAnswerError(None))
    with pytest.raises(NoAnswerError):
        actor.receive("standard", 1)
    assert violations(actor) == {"beyond_maximum": 1}


@pytest.mark.parametrize("fifo", [False, True])
def test_nothing_is_lost_invented_shared_or_reordered(fifo: bool) -> None:
    assert explore(Rules(fifo, budget=(2, 2, 1, 0, 1))) > 3_000


@pytest.mark.slow
@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("budget", [(4, 2, 1, 1, 1), (4, 3, 0, 0, 1)])
def test_with_four_messages(fifo: bool, budget: tuple[int, int, int, int, int]) -> None:
    assert explore(Rules(fifo, budget=budget)) > 10_000


@pytest.mark.parametrize("fence", [False, True])
@pytest.mark.parametrize("fifo", [False, True])
def test_without_the_identity_in_handles_a_handle_of_before_deletes_another_message(fifo: bool, fence: bool) -> None:
    """The jump of ids alone does not prevent the fault, because a sender may come before the jump."""
    with pytest.raises(ViolationError, match="a handle of 1 deletes 2") as found:
        explore(Rules(fifo, identity=False, fence=fence, budget=(2, 2, 0, 0, 1)))
    assert "failover" in found.value.path


def test_identity_alone_is_enough() -> None:
    """Ids jump for the sake of callers that keep plain ids: REST and SQL functions."""
    assert explore(Rules(fifo=False, fence=False, budget=(2, 2, 0, 0, 1))) > 1_000


def test_the_page_has_every_action_and_source() -> None:
    text = page()
    assert {f"### {case.action}" for case in ALL} <= set(text.splitlines())
    assert all(case.source.title in text for case in ALL)
    assert sum(line.startswith("| ") for line in text.splitlines()) > 2_000
