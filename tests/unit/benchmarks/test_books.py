"""The books of the application mode find what is planted: a loss, a duplicate, a disorder, an unknown message."""

import pytest

from benchmarks.queen.ledger import AuditResult, ConsumerGroup, Ledger, audit
from benchmarks.queen.profile import Fate, Profile


def ledger_with(pushed: int) -> Ledger:
    """One session with so many messages."""
    ledger = Ledger((ConsumerGroup(), ConsumerGroup()))
    for _ in range(pushed):
        ledger.number(7)
    ledger.acknowledged = pushed
    return ledger


def completed(ledger: Ledger, *numbers: int) -> Ledger:
    for number in numbers:
        ledger.groups[0].complete(7, number)
    return ledger


def books(ledger: Ledger, *dead: int, poison: tuple[int, ...] = ()) -> AuditResult:
    return audit(ledger, 0, {(7, n) for n in dead}, {(7, n) for n in poison})


def test_everything_once_and_in_order_is_clean() -> None:
    found = books(completed(ledger_with(4), 1, 2, 3, 4))
    assert found.clean
    assert found.completed == 4


def test_a_loss_at_the_end_is_found() -> None:
    found = books(completed(ledger_with(4), 1, 2, 3))
    assert (found.lost, found.clean) == (1, False)


def test_a_loss_in_the_middle_is_found() -> None:
    found = books(completed(ledger_with(4), 1, 3, 4))
    assert (found.lost, found.order_violations, found.clean) == (1, 0, False)


def test_a_duplicate_is_found() -> None:
    found = books(completed(ledger_with(2), 1, 2, 2))
    assert (found.duplicates, found.lost, found.clean) == (1, 0, False)


def test_a_disorder_is_found() -> None:
    found = books(completed(ledger_with(3), 1, 3, 2))
    assert (found.order_violations, found.lost, found.duplicates, found.clean) == (1, 0, 0, False)


def test_queues_without_order_may_change_it() -> None:
    ledger = Ledger(
        (ConsumerGroup(ordered=False), ConsumerGroup(ordered=False)), pushed={7: 3}, acknowledged=3
    )
    found = books(completed(ledger, 2, 3, 1))
    assert found.clean
    assert found.completed == 3


def test_a_message_that_nobody_pushed_is_found() -> None:
    found = books(completed(ledger_with(1), 1, 2))
    assert (found.unknown, found.clean) == (1, False)


def test_dead_letters_are_not_lost() -> None:
    found = books(completed(ledger_with(4), 1, 4), 2, 3, poison=(2,))
    assert found.clean
    assert (found.poison_dead_lettered, found.collateral) == (1, 1)


def test_completed_and_dead_is_found() -> None:
    found = books(completed(ledger_with(2), 1, 2), 2)
    assert (found.completed_and_dead, found.clean) == (1, False)


def test_a_push_without_an_answer_may_be_missing() -> None:
    ledger = completed(ledger_with(2), 1)
    ledger.uncertain.add((7, 2))
    assert books(ledger).clean


def test_stage_two_notes_what_comes_twice() -> None:
    ledger = ledger_with(1)
    ledger.arrive_at_stage2((7, 1))
    ledger.arrive_at_stage2((7, 1))
    assert (ledger.stage2, ledger.stage2_duplicates) == ({(7, 1)}, 1)


def test_a_transient_failure_happens_once() -> None:
    group = ConsumerGroup()
    assert [group.first_time((1, 1)), group.first_time((1, 1)), group.first_time((1, 2))] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("fate", "part"),
    [(Fate.POISON, 0.001), (Fate.TRANSIENT, 0.01), (Fate.FORWARD, 0.05), (Fate.PLAIN, 0.939)],
)
def test_fates_have_their_shares(fate: Fate, part: float) -> None:
    """0.1 % poison, 1 % transient failures, 5 % forwarded, of 200,000 messages."""
    profile = Profile()
    found = sum(profile.fate(session, n) is fate for session in range(200) for n in range(1_000))
    assert found / 200_000 == pytest.approx(part, rel=0.2)
