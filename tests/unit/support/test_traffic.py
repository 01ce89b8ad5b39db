"""What the actors of `make chaos` tell their ledgers of calls without an answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support.chaos.connection import NoAnswerError, RefusedError
from tests.support.chaos.traffic import Actor, Traffic, produce_poison
from tests.support.ledger import Ledger


class FakeConnection:
    """Each call ends with this error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def sqs(self, action: str, **request: Any) -> Any:
        raise self.error


def actor_whose_calls_end_with(error: Exception) -> Actor:
    """Its queue `poison` has a message that was received once, of two times."""
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
    """After the message was found in the dead-letter queue."""
    ledger = actor.traffic.ledgers["poison"]
    ledger.moved(["m"])
    return ledger.findings().violations


def test_a_send_without_an_answer_may_have_received_for_a_long_poll() -> None:
    """Shown by tests/integration/web/long_poll/test_lost_handoff.py."""
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
