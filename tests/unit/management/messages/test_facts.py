"""Tests which events follow from the facts about a message, and which facts the life calls unknown."""

from uuid import UUID

from penstock.management.messages.facts import Facts, Move, find_unknown, list_events
from penstock.postgres.statements.message_life import LifeRow

NOW, BEFORE = UUID(int=1), UUID(int=2)
HEAD = "arn:aws:sqs:us-east-1:000000000000:"
ORDERS, DEAD = f"{HEAD}orders", f"{HEAD}dead"


def received(arn: str, number: int) -> LifeRow:
    return LifeRow("received", 100 + number, arn, number, "caller", "agent", None, NOW)


def unknown(facts: Facts, *rows: LifeRow, shows_source: bool = True) -> list[str]:
    return list(find_unknown(DEAD, facts, rows, shows_source=shows_source))


def test_a_dead_letter_from_a_queue_without_a_history() -> None:
    letter = Facts(
        str(NOW), 1, is_known=True, source_arn=ORDERS, state="visible", sent_ms=1, entered_ms=9,
        entered_by="dead_lettered", receives=0, first_sent_to=ORDERS, first_sent_ms=1, total_earlier=3,
        first_earlier_ms=2, source_keeps_history=False,
    )  # fmt: skip
    assert letter.count_receives() == 3
    assert letter.find_last_known_receive([2]) is None
    assert unknown(letter) == [
        "When receives 2 to 3 of 3 in orders happened is not known: orders keeps no history.",
        "The receivers in orders are not known: the queue has not recorded them (attribute PenstockTrace).",
    ]
    assert unknown(letter, *(received(ORDERS, number) for number in (1, 3))) == [
        "When receive 2 of 3 in orders happened is not known: orders keeps no history.",
        "The receivers of 1 of 3 receives in orders are not known.",
    ]
    assert unknown(letter, shows_source=False) == []
    rows = [
        LifeRow("first_sent", 1, ORDERS, None, None, None, None),
        LifeRow("dead_lettered", 9, DEAD, 3, None, None, None, NOW, ORDERS),
    ]
    events = list_events(DEAD, letter, rows, shows_source=True)
    assert [(event.what, event.at_ms, event.arn, event.source_arn) for event in events] == [
        ("sent", 1, ORDERS, None), ("received", 2, ORDERS, None), ("dead_lettered", 9, DEAD, ORDERS),
    ]  # fmt: skip


def test_receives_of_equal_numbers_before_and_after_a_move_are_different() -> None:
    moved = Facts(
        str(NOW), 1, is_known=True, sent_ms=1, entered_by="moved", receives=1, first_ms=50, state="in_flight",
        moves=[Move(1, "dead_lettered", str(BEFORE), ORDERS), Move(2, "moved", str(BEFORE), DEAD)],
    )  # fmt: skip
    rows = [
        LifeRow("dead_lettered", 9, DEAD, 2, None, None, None, BEFORE, ORDERS),
        LifeRow("first_received", 5, ORDERS, 1, None, None, None, BEFORE),
        LifeRow("moved", 20, ORDERS, 0, None, None, None, BEFORE, DEAD),
    ]
    events = list_events(ORDERS, moved, rows, shows_source=False)
    assert [(event.what, event.at_ms, event.receive) for event in events if event.what == "received"] == [
        ("received", 5, 1), ("received", 50, 1),
    ]  # fmt: skip
    assert moved.former_id == str(BEFORE)
    assert list(find_unknown(ORDERS, moved, rows, shows_source=False)) == [
        "When 1 of the 2 receives before the last move happened is not known.",
        "The receivers of 2 of the 2 receives before the last move are not known.",
        "The receivers in orders are not known: the queue has not recorded them (attribute PenstockTrace).",
    ]


def test_a_recorded_receive_is_listed_once() -> None:
    facts = Facts(
        str(NOW), 1, state="in_flight", sent_ms=1, entered_by="sent", receives=2, first_ms=101, again_ms=[102]
    )
    events = list_events(DEAD, facts, [received(DEAD, 1)], shows_source=False)
    assert [(event.what, event.receive, event.by) for event in events] == [
        ("sent", None, None), ("received", 1, "caller"), ("received", 2, None),
    ]  # fmt: skip


def test_unknown_is_not_zero() -> None:
    nothing = Facts("id")
    assert nothing.count_receives() is None
    assert unknown(nothing) == [
        "When the message was sent is not known.",
        "Whether the message moved from another queue is not known: no row of the message is left.",
        "How often dead delivered the message is not known.",
        "Whether the message still exists is not known: no examined queue has it.",
    ]
    ended = Facts("id", 1, sent_ms=1, entered_by="sent", receives=0)
    assert unknown(ended)[-1].endswith("the history of dead does not have the message, or does not have it yet.")
    ended.ended_together = 2
    assert unknown(ended)[-1].endswith("the history has 2 messages that were sent in the same moment.")
    ended.keeps_history = False
    assert unknown(ended)[-1].endswith("dead keeps no history.")
