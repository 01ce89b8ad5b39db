"""Tests the checker, which must report each kind of violation, but no uncertain violation."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.support import wait
from tests.support.cases.table import ALL, page
from tests.support.chaos.actors import Actor, produce_poison
from tests.support.chaos.traffic import NoResponseError, RefusedError, Traffic
from tests.support.ledger import Ledger
from tests.support.model.storage import Rules, ViolationError, explore


class Clock:
    """Shows a time that changes only when a test sets it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Ledger:
    """Returns a ledger of three sent messages: two in a group and one without a group."""
    ledger = Ledger(clock=clock)
    ledger.sending(["a", "b"], "group")
    ledger.sending(["c"])
    ledger.sent(["a", "b", "c"], [1, 2, 3])
    return ledger


def finish(ledger: Ledger, *bodies: str) -> None:
    ledger.deleting(bodies)
    ledger.deleted(bodies)


def test_a_complete_ledger_has_no_findings(ledger: Ledger, clock: Clock) -> None:
    ledger.delivered(["a", "b", "c"], 0, 1)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {}
    assert (ledger.findings().sent, ledger.findings().deliveries) == (3, 3)


def test_a_message_that_never_came_is_lost(ledger: Ledger) -> None:
    finish(ledger, "a")
    assert ledger.findings().violations == {"lost": 2}


def test_a_delete_without_a_response_excuses(ledger: Ledger) -> None:
    finish(ledger, "a", "b")
    ledger.deleting(["c"])
    assert ledger.findings().violations == {}
    assert ledger.findings().unknown_deletes == 1


def test_phantoms_were_never_sent_or_rolled_back(ledger: Ledger) -> None:
    finish(ledger, "a", "b", "c")
    ledger.sending(["back"])
    ledger.withdrawn(["back"])
    ledger.delivered(["invented", "back"], 0, 1)
    assert ledger.findings().violations == {"phantom": 2}


def test_a_send_without_a_response_may_be_delivered(ledger: Ledger) -> None:
    finish(ledger, "a", "b", "c")
    ledger.sending(["perhaps"])
    ledger.delivered(["perhaps"], 0, 1)
    assert ledger.findings().violations == {}
    assert ledger.findings().unknown_sends == 1


def test_a_deleted_message_must_not_come_back(ledger: Ledger, clock: Clock) -> None:
    finish(ledger, "a", "b", "c")
    clock.now = 2
    ledger.delivered(["c"], 1, 1)
    assert ledger.findings().violations == {"resurrected": 1}


def test_a_receive_that_began_before_the_delete_ended_is_none(ledger: Ledger, clock: Clock) -> None:
    clock.now = 1
    finish(ledger, "a", "b", "c")
    ledger.delivered(["c"], 0.5, 0)
    assert ledger.findings().violations == {}


@pytest.mark.parametrize(("ended", "found"), [(9.9, {"overlapping": 1}), (10.1, {})])
def test_a_receive_before_the_timeout_ended_overlaps(
    ledger: Ledger, clock: Clock, ended: float, found: dict[str, int]
) -> None:
    clock.now = 1
    ledger.delivered(["c"], 0, 10)
    clock.now = ended
    ledger.delivered(["c"], 5, 10)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == found


def test_two_receives_side_by_side_may_have_come_in_either_order(ledger: Ledger, clock: Clock) -> None:
    """The receive that was recorded second began first. The visibility timeout can have ended before the other receive
    returned the message.
    """
    clock.now = 5.1
    ledger.delivered(["c"], 5, 10)
    clock.now = 6
    ledger.delivered(["c"], 0, 1)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {}


def test_a_released_message_may_come_again(ledger: Ledger, clock: Clock) -> None:
    ledger.delivered(["c"], 0, 10)
    ledger.released(["c"])
    ledger.delivered(["c"], 1, 10)
    ledger.held(["c"], 1, 20)
    clock.now = 15
    ledger.delivered(["c"], 14, 10)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {"overlapping": 1}


@pytest.mark.parametrize(("begun", "found"), [(1, {}), (3, {"overlapping": 1})])
def test_a_crash_excuses_receives_that_had_begun(
    ledger: Ledger, clock: Clock, begun: float, found: dict[str, int]
) -> None:
    clock.now = 2
    ledger.forgotten()
    clock.now = 4
    ledger.delivered(["c"], begun, 10)
    ledger.delivered(["c"], 4, 10)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == found


@pytest.mark.parametrize(("crash", "found"), [(3, {}), (5, {"overlapping": 1})])
def test_a_crash_that_is_noticed_later_excuses_what_came_again_since(
    ledger: Ledger, clock: Clock, crash: float, found: dict[str, int]
) -> None:
    clock.now = 2
    ledger.delivered(["c"], 1, 10)
    clock.now = 4
    ledger.delivered(["c"], 3.5, 10)
    assert ledger.details() == [
        "overlapping: c, sent 0.000: received 1.000 to 2.000 until 11.000, again 3.500 to 4.000 for 10 s"
    ]
    clock.now = 6
    ledger.forgotten(since=crash)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == found


def test_a_group_is_served_in_order(ledger: Ledger) -> None:
    ledger.delivered(["b"], 0, 1)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {"out_of_order": 1}


def test_a_batch_is_in_order_too(ledger: Ledger) -> None:
    ledger.delivered(["b", "a"], 0, 1)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {"out_of_order": 1}


def test_the_next_message_of_a_group_may_come_when_the_first_is_being_deleted(ledger: Ledger) -> None:
    ledger.deleting(["a"])
    ledger.delivered(["b"], 0, 1)
    finish(ledger, "b", "c")
    assert ledger.findings().violations == {}


def test_a_delete_that_did_nothing_opens_the_message_again(ledger: Ledger) -> None:
    ledger.deleting(["a"])
    ledger.delivered(["b"], 0, 0)
    ledger.kept(["a"])
    ledger.delivered(["b"], 0, 0)
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {"out_of_order": 1}


def test_moving_takes_exactly_the_maximum_of_deliveries(clock: Clock) -> None:
    ledger = Ledger(maximum=2, clock=clock)
    ledger.sending(["early", "right", "late"])
    ledger.sent(["early", "right", "late"], [1, 2, 3])
    ledger.delivered(["early", "right", "late"], 0, 0)
    ledger.delivered(["right", "late"], 0, 0)
    ledger.delivered(["late"], 0, 0)
    ledger.moved(["early", "right", "late"])
    assert ledger.findings().violations == {"beyond_maximum": 2}


@pytest.mark.parametrize(
    ("begun", "given_up", "found"),
    [(80, 84, {"beyond_maximum": 1}), (80, 86, {}), (119, 140, {}), (121, 140, {"beyond_maximum": 1})],
)
def test_a_receive_without_a_response_counts_for_what_was_there_or_came_soon(
    clock: Clock, begun: float, given_up: float, found: dict[str, int]
) -> None:
    ledger = Ledger(maximum=2, clock=clock)
    ledger.sending(["m"])
    clock.now = 100
    ledger.sent(["m"], [1])
    ledger.delivered(["m"], 100, 0)
    clock.now = 120
    ledger.moved(["m"])
    clock.now = given_up
    ledger.unanswered_receive(begun)
    assert ledger.findings().violations == found


def test_a_send_that_was_stored_twice(ledger: Ledger, clock: Clock) -> None:
    ledger.delivered(["a"], 0, 1, ["id-1"])
    clock.now = 2
    ledger.delivered(["a"], 2, 1, ["id-2"])
    finish(ledger, "a", "b", "c")
    assert ledger.findings().violations == {"stored_twice": 1}


# --- a failover to a standby behind the primary, or a restore ---------------------------------------------------------
@pytest.fixture
def rewound(ledger: Ledger, clock: Clock) -> Ledger:
    """Before the moment of the backup, `c` was sent and `a` was deleted, and after that moment, `b` was deleted and `d`
    was sent."""
    finish(ledger, "a")
    clock.now = 10
    ledger.sending(["d"], "group")
    ledger.sent(["d"], [4])
    finish(ledger, "b")
    ledger.rewound(5, 10)
    clock.now = 11
    return ledger


def test_a_delivery_after_the_moment_is_excused(rewound: Ledger) -> None:
    finish(rewound, "c")
    found = rewound.findings()
    assert (found.violations, found.rewound, found.unknown_deletes) == ({}, 1, 1)


def test_a_delivery_before_the_moment_is_not_excused(rewound: Ledger) -> None:
    rewound.delivered(["a"], 11, 1)
    assert rewound.findings().violations == {"resurrected": 1, "lost": 1}


def test_findings_before_it_was_said_do_not_count(ledger: Ledger, clock: Clock) -> None:
    clock.now = 10
    finish(ledger, "a", "b", "c")
    clock.now = 12
    ledger.delivered(["a"], 11, 1)
    assert ledger.findings().violations == {"resurrected": 1}
    ledger.rewound(5, 10)
    assert ledger.findings().violations == {}


def test_a_message_seen_again_must_be_kept_from_then_on(rewound: Ledger) -> None:
    finish(rewound, "c")
    rewound.delivered(["b", "d"], 11, 1)
    assert rewound.findings().violations == {"lost": 1}
    finish(rewound, "b", "d")
    assert rewound.findings().violations == {}
    rewound.delivered(["d"], 12, 1)
    assert rewound.findings().violations == {"resurrected": 1}


@pytest.mark.parametrize(("until", "violations"), [(None, {"resurrected": 1}), (15, {})])
def test_a_delete_noted_late_is_undone_if_the_service_had_not_started_again(
    ledger: Ledger, clock: Clock, until: float | None, violations: dict[str, int]
) -> None:
    """On a busy machine, a client notes a response later than NOTED_SECONDS after the cut at 10."""
    finish(ledger, "a", "b")
    clock.now = 11
    finish(ledger, "c")
    ledger.rewound(5, 10, until)
    clock.now = 17
    ledger.delivered(["c"], 16, 1)
    finish(ledger, "c")
    assert ledger.findings().violations == violations


@pytest.mark.parametrize(
    ("stored_later", "received_at", "violations"),
    [(True, 7, {}), (True, 4, {"stored_twice": 1}), (False, 7, {"stored_twice": 1})],
)
def test_a_worker_stores_a_message_again_after_the_moment(
    clock: Clock, stored_later: bool, received_at: int, violations: dict[str, int]
) -> None:
    """A message sent at 1 has a new id after a restore to the moment 5, because its worker had stored it after 5."""
    ledger = Ledger(stored_later=stored_later, clock=clock)
    ledger.sending(["a"])
    clock.now = 1
    ledger.sent(["a"], [1])
    clock.now = received_at
    ledger.delivered(["a"], received_at, 0, ["first id"])
    ledger.rewound(5, 10)
    clock.now = 11
    ledger.delivered(["a"], 11, 0, ["second id"])
    finish(ledger, "a")
    assert ledger.findings().violations == violations


# --- waiting ---------------------------------------------------------------------------------------------------------
def test_a_wait_reports_the_last_response_and_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "MAX_SECONDS", 0)
    messages = ["a"]
    with pytest.raises(AssertionError, match=r"still False: .*len\(messages\) == 2.* with {'messages': \['a'\]}"):
        wait.wait_until(lambda: len(messages) == 2)


# --- actors ----------------------------------------------------------------------------------------------------------
# Tests what the actors of `make chaos` record about calls without a response. Also tests every order of steps in the
# model of the storage: two consumers, up to four messages, and one crash or failover. Budgets limit the numbers of
# sends, receives, time-outs, changed visibilities and failures. Also tests that `make cases` writes a page with all
# cases.


class FakeConnection:
    """Raises the given error for each call."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def sqs(self, action: str, **request: Any) -> Any:
        raise self.error


def actor_whose_calls_end_with(error: Exception) -> Actor:
    """Returns an actor whose queue `poison` contains a message that was received once, with a maximum of two
    receives."""
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
    """Returns the violations after the message has arrived in the dead-letter queue."""
    ledger = actor.traffic.ledgers["poison"]
    ledger.moved(["m"])
    return ledger.findings().violations


def test_a_send_without_a_response_may_have_received_for_a_long_poll() -> None:
    """tests/integration/web/long_poll/test_direct_handoff.py tests this case in the service."""
    actor = actor_whose_calls_end_with(NoResponseError(503, "1"))
    with pytest.raises(NoResponseError):
        produce_poison(actor)
    assert violations(actor) == {}


def test_a_receive_without_a_response_may_have_received() -> None:
    actor = actor_whose_calls_end_with(NoResponseError(None))
    with pytest.raises(NoResponseError):
        actor.receive("poison", 1)
    assert violations(actor) == {}


def test_a_send_that_was_refused_received_nothing() -> None:
    actor = actor_whose_calls_end_with(RefusedError("no"))
    with pytest.raises(RefusedError):
        produce_poison(actor)
    assert violations(actor) == {"beyond_maximum": 1}


def test_a_call_about_another_queue_excuses_nothing() -> None:
    actor = actor_whose_calls_end_with(NoResponseError(None))
    with pytest.raises(NoResponseError):
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
    """Skipping ids is not sufficient, because a send can precede the skip."""
    with pytest.raises(ViolationError, match="a handle of 1 deletes 2") as found:
        explore(Rules(fifo, identity=False, fence=fence, budget=(2, 2, 0, 0, 1)))
    assert "failover" in found.value.path


def test_identity_alone_is_enough() -> None:
    """Only callers that store plain ids (REST and SQL functions) need skipped ids."""
    assert explore(Rules(fifo=False, fence=False, budget=(2, 2, 0, 0, 1))) > 1_000


def test_the_page_has_every_action_and_source() -> None:
    text = page()
    assert {f"### {case.action}" for case in ALL} <= set(text.splitlines())
    assert all(case.source.title in text for case in ALL)
    assert sum(line.startswith("| ") for line in text.splitlines()) > 2_000
